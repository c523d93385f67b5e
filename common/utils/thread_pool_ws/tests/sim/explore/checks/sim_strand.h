// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_strand.h
/// No task waits while a worker sleeps and could run it.
#ifndef SIM_STRAND_H
#define SIM_STRAND_H

#include <stdbool.h>

#include "sim_thread.h"

/// The longest time that a task has waited so, and what ends a scenario. The bound is the sum of what the
/// guard takes in the worst case: see docs/simulation.md.
extern sim_ps_t sim_strand_longest_ps;

/// @brief Look from now on, each 0.25 ms of virtual time. Also ends the process with a finding when nothing
/// can happen any more.
void sim_strand_begin(void);

/// @return whether a thread is of another program
bool sim_is_hog(const sim_thread_t *thread);

#endif
