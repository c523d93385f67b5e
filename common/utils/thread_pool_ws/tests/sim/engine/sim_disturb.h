// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_disturb.h
/// What takes time from running threads: interrupts and the host, for a while now and then (detours), cold
/// caches after the CPU was idle, and the control group's quota of CPU time.
#ifndef SIM_DISTURB_H
#define SIM_DISTURB_H

#include "sim_thread.h"

void sim_disturb_reset(void);

/// @brief The running thread goes on.
void sim_disturb_begins(void);

/// @return whether the control group's time is used up: all of its threads stand still
bool sim_disturb_throttles(sim_ps_t now_ps);

/// @return when a group that is throttled at @p now_ps goes on; @p now_ps = it is not
sim_ps_t sim_disturb_goes_on(sim_ps_t now_ps);

#endif
