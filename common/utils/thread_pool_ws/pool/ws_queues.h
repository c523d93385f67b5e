// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queues.h
/// All queues of a pool together: does a task wait anywhere, and how many do?
#ifndef WS_QUEUES_H
#define WS_QUEUES_H

#include "ws_types.h"

/// @return whether any queue of the pool holds a task. Call after a seq_cst fence to decide about sleep
bool ws_work_visible(struct ws_pool_s *pool);

/// @return tasks in all queues, about
uint64_t ws_queued(struct ws_pool_s *pool);

/// @return whether some queue has pages to give back to the kernel. @param now  give them back
bool ws_queues_trim(struct ws_pool_s *pool, bool now);

#endif
