// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_guard.h
/// The guard, a watchdog thread for tasks behind blocked workers: see ws_guard.c.
#ifndef WS_GUARD_H
#define WS_GUARD_H

#include "../pool/ws_types.h"

/// @brief Start the guard's thread if the pool has more than one worker, or has workers and more than one
/// CPU. If the thread cannot be created, the cap is off.
void ws_guard_start(struct ws_pool_s *pool);

/// @brief End the guard's thread, before the workers end.
void ws_guard_end(struct ws_pool_s *pool);

#endif
