// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_work.h
/// What a thread does apart from the pool: compute, and wait for a time.
#ifndef SIM_WORK_H
#define SIM_WORK_H

#include "sim_thread.h"

/// @brief Compute for @p ps, and longer where something else takes the CPU meanwhile, or its core is shared.
void sim_work(sim_ps_t ps);

/// @brief Sleep until a time. A timer wakes the thread, late as timers of this machine are.
void sim_sleep_until(sim_ps_t until_ps);

#endif
