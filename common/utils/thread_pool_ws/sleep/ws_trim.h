// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_trim.h
/// Memory of queues that have grown goes back to the kernel after a while.
#ifndef WS_TRIM_H
#define WS_TRIM_H

#include "../pool/ws_types.h"

/// Time that a parked worker waits before it gives memory of grown queues back to the kernel.
#define WS_TRIM_AFTER_NS 50000000u

/// @brief The worker goes to sleep: shrink its queues if they are empty.
void ws_trim_own(ws_worker_t *worker);

/// @brief Shrink the caller's grown queue if it is empty; a worker gives the memory back after a while.
void ws_give_back(struct ws_pool_s *pool, ws_here_t here);

#endif
