// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_guard.h
/// The guard, a watchdog thread for tasks behind blocked workers: see ws_guard.c.
#ifndef WS_GUARD_H
#define WS_GUARD_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// @brief Create the guard's thread. It waits for WS_STARTED_ALL.
/// @param patience_ns  if the system refuses a thread for now, try again for so long; 0 = once
/// @return 0 or an error number: the pool has no guard, and must have no worker
int ws_guard_create(struct ws_pool_s *pool, uint64_t patience_ns);

/// @brief The workers are counted, and wait for WS_STARTED_ALL: decide what the guard is for, and whether
/// there is a cap on awake workers. Set the CPUs for the budget of spinning.
/// @return whether the guard looks for tasks that no worker reaches: the pool has a guard, and more than one
///         worker
/// @threads  the creator
bool ws_guard_start(struct ws_pool_s *pool);

/// @brief All threads have been let go (WS_STARTED_ALL): wait until the guard, if there is one, has set
/// itself up, or has found workers missing. Gives up after WS_START_NS_MAX: the guard may get no CPU.
void ws_guard_await(struct ws_pool_s *pool);

/// @brief End the guard's thread, if there is one, before the workers end. Blocks until it has ended.
void ws_guard_end(struct ws_pool_s *pool);

#endif
