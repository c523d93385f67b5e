// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.h
/// Life of a task, step 4: find. Before: ws_wake.h; after: ws_run.c.
#ifndef WS_FIND_H
#define WS_FIND_H

#include "../pool/ws_types.h"

/// @brief Find any task: own newest, then the queue that served last, other lanes, other workers from near to
/// far, the aside queues, the shared queue.
bool ws_find(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @return whether ws_find would probably find a task at once, without a look at many queues
bool ws_find_near(struct ws_pool_s *pool, ws_here_t here);

/// @brief Find a task of @p group in the caller's own queues, or one that was pushed there since the mark
/// was taken, when the join began: by a task of the group that the join has run, or by a descendant of it.
/// The mark of the caller's innermost wait is lowered when the queue gets shorter.
bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief A round of the wait is over, or a fiber has yielded in it: find the oldest task in the caller's own
/// queues that the wait may run, of no kind and of each kind in turn (ws_dig.h). Begins a round.
bool ws_find_turn(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief The search that follows a yield of a fiber is over.
static inline void ws_forget_yield(ws_queue_t *queue)
{
  queue->oldest &= ~(uint32_t)WS_OLDEST_NEXT;
}

#endif
