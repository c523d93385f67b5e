// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_brief.h
/// Wakes that are not made, because the burst would be over before the worker runs (ws_alone.h). A worker
/// that is not woken is no loss of liveness: the guard stands, as after every push, and wakes a worker if the
/// tasks wait all the same. A pool without a guard spares no wake.
#ifndef WS_BRIEF_H
#define WS_BRIEF_H

#include "../pool/ws_types.h"

/// @brief A push is about to wake a worker, because none searches. Notes the beginning of the burst.
/// @return whether the wake is spared; the caller must see to the guard
bool ws_brief_needs_no_wake(struct ws_pool_s *pool, ws_here_t here);

/// @brief A wait of the queue's owner has ended, and a burst was noted: learn from it.
/// @threads  the owner
void ws_brief_learn(struct ws_pool_s *pool, ws_queue_t *queue);

#endif
