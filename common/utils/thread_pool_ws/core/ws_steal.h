// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_steal.h
/// Life of a task, step 4: how a thread takes tasks out of the queues of other threads, without disturbing
/// other thieves. In which order: ws_find.c.
#ifndef WS_STEAL_H
#define WS_STEAL_H

#include "../pool/ws_types.h"

/// @brief Steal any task: from the queue that served last if the thread knows of a task there, from other
/// lanes, from other workers from near to far, or one that is in no thread's own queue.
bool ws_steal(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief Steal from queue @p victim of the pool, until it is empty or the caller has one task.
bool ws_steal_from(struct ws_pool_s *pool, ws_here_t here, uint32_t victim, ws_task_t *task);

/// @brief Steal a task that was pushed by a task of @p group, from the queue of the thread that runs that one
/// ("leapfrog": Wagner, Calder: Leapfrogging, PPoPP 1993).
bool ws_steal_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task from the inbox of a worker that gets no CPU.
bool ws_steal_starved(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief Take a task that is in no thread's own queue: in an aside queue, in the shared queue, or in the
/// inbox of a worker that gets no CPU.
bool ws_steal_stray(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

#endif
