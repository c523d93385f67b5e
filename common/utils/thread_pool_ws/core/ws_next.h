// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_next.h
/// Life of a task, step 4: what next. Before: ws_wake.h; after: ws_worker.c. One list of sources (ws_next.c)
/// answers the worker's loop, ws_pool_wait() and each wait for a group or an event.
#ifndef WS_NEXT_H
#define WS_NEXT_H

#include "../tasks/ws_dig.h"
#include "../tasks/ws_shared.h"
#include "ws_round.h" // IWYU pragma: export

/// @brief ws_next() off the usual path: what is late goes first, then all sources. With WS_NEXT_OWN only the
/// oldest own task; without a queue only those of pool-wide queues.
/// @param is_over  the search ends a round. @return false = no source has one, or others were quicker
bool ws_next_of_all(ws_search_t *search, bool is_over, ws_task_t *task);

/// @brief The rest of ws_next() when the own deque has nothing for the search: take from another source.
/// search->from_own is false before, and stays so.
bool ws_next_elsewhere(ws_search_t *search, ws_task_t *task);

/// @brief Take the next task: from the first source that has one. On the usual path the pool-wide queues are
/// empty, and the own deque comes first. @param filter  as in the search
/// @return false = no source has one, or other threads were quicker
static inline bool ws_next(ws_search_t *search, ws_filter_t filter, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  if (WS_UNLIKELY(!own || filter == WS_NEXT_OWN)) // has no rounds
    return ws_next_of_all(search, false, task);
  if (ws_round_search(own))
    return ws_next_of_all(search, true, task);
  const bool is_ordered = filter == WS_NEXT_ANY && own->oldest != 0;
  if (WS_UNLIKELY(is_ordered || ws_shared_count(&search->pool->tasks) > 0))
    return ws_next_of_all(search, false, task);
  search->from_own =
      filter == WS_NEXT_GROUP ? ws_dig(&search->pool->tasks, own, task) : ws_deque_take(&own->deque, task);
  return search->from_own || ws_next_elsewhere(search, task);
}

/// @brief Take any task, wherever it lies: the pool has stopped, and its workers look no more. Call after a
/// fence that follows the stop.
/// @return false = none is queued any more
/// @threads  any
bool ws_next_left(struct ws_pool_s *pool, ws_task_t *task);

/// @brief A yield of a fiber counts for the owner's next search only: from now on it does not.
static inline void ws_forget_yield(ws_queue_t *queue)
{
  queue->oldest &= ~(uint32_t)WS_OLDEST_NEXT;
}

#endif
