// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_cost.c
/// sim_cost.h.
#include "sim_cost.h"

#include "sim_libc.h"

/// 1.4 times what the most costly of 100,000 programs took. It has 1,054 waits, each of which reads once what
/// its thread has queued.
#define PER_TASK 250u
#define PER_WAIT 400u
#define FOR_ALL 10000u

uint64_t sim_cost_blocks;

void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
  sim_cost_blocks++;
}

void sim_cost_check(uint64_t tasks, uint64_t waits)
{
  if (sim_cost_blocks > PER_TASK * tasks + PER_WAIT * waits + FOR_ALL)
    sim_finding("cost: %llu blocks for %llu tasks and %llu waits", (unsigned long long)sim_cost_blocks,
                (unsigned long long)tasks, (unsigned long long)waits);
}
