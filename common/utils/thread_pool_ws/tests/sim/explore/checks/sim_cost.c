// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_cost.c
/// sim_cost.h.
#include "sim_cost.h"

#include "sim_libc.h"

/// A little more than the most costly of 100,000 programs takes, seed 1000017632. Each of its 1,054 waits
/// reads once what its thread has queued, 332 tasks.
#define PER_TASK 170u
#define PER_WAIT 450u
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
