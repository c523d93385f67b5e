// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.c
/// ws_find.h: the whole scheduling policy of a thread that looks for any task.
#include "ws_find.h"

#include "../pool/ws_nodes.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_round.h"
#include "ws_run.h"

/// Take the oldest: by settings.fifo, or because a fiber has yielded to the others. If it is alone in the
/// queue, the others are those elsewhere.
static bool take_own_oldest(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  const bool alone = (own->oldest & WS_OLDEST_NEXT) && ws_queue_size(own) <= 1;
  return (alone && ws_steal(pool, here, task)) || ws_queue_take_oldest(own, task);
}

WS_SELDOM static bool take_own_now(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const bool found = take_own_oldest(pool, here, task);
  ws_forget_yield(here.queue);
  return found;
}

/// Take from the own queue. The tasks that pushed these tasks have ended, or will not join them here.
static bool take_own(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  return here.queue->oldest == 0 ? ws_queue_take(here.queue, task) : take_own_oldest(pool, here, task);
}

/// Take a task from one of the queues that all threads share.
static bool take_shared(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, ws_task_t *task)
{
  if (!ws_shared_take(&pool->tasks, kind, task))
    return false;
  ws_count(&here.queue->count.stolen, 1);
  ws_traced_steal(pool, here, WS_VICTIM_SHARED);
  return true;
}

/// Take a task for one of the nodes [first, end), from near to far.
static bool take_of_nodes(struct ws_pool_s *pool, ws_here_t here, const uint8_t *nodes, uint32_t first,
                          uint32_t end, ws_task_t *task)
{
  for (uint32_t i = first; i < end && nodes && i < pool->nodes.count; i++)
    if (take_shared(pool, here, WS_KIND_NODE + nodes[i], task))
      return true;
  return false;
}

WS_SELDOM static bool find_by_kind(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint8_t *nodes = ws_nodes_here(&pool->nodes);
  if (here.worker)
    ws_complete_due(here.worker); // it may wait for a lock now
  if (ws_steal_stuck(pool, here, task) || take_shared(pool, here, WS_KIND_HIGH, task))
    return true;
  const bool found = take_own(pool, here, task) || take_of_nodes(pool, here, nodes, 0, 1, task)
                     || ws_steal(pool, here, task) || take_shared(pool, here, WS_KIND_NORMAL, task)
                     || take_of_nodes(pool, here, nodes, 1, WS_NODES_MAX, task)
                     || take_shared(pool, here, WS_KIND_LOW, task);
  ws_forget_yield(here.queue); // now: it counts for each kind that the search came to
  return found;
}

bool ws_find(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  if (ws_round_search(here.queue) && ws_tick(pool, here, task))
    return true;
  if (WS_UNLIKELY(ws_shared_count(&pool->tasks) > 0))
    return find_by_kind(pool, here, task);
  return (WS_LIKELY(here.queue->oldest == 0) ? ws_queue_take(here.queue, task)
                                             : take_own_now(pool, here, task))
         || ws_steal(pool, here, task) || ws_steal_stuck(pool, here, task);
}

bool ws_find_near(struct ws_pool_s *pool, ws_here_t here)
{
  const ws_queue_t *own = here.queue;
  if (ws_queue_size(own) > 0)
    return true;
  // a thief that waits first does not come back at once
  return own->late_pauses == 0 && ws_queue_is_known(&own->memo, pool->tasks.queue[own->victim]);
}
