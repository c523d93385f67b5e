// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.c
/// ws_find.h: the whole scheduling policy, and what a joining thread may run.
#include "ws_find.h"

#include "../pool/ws_nodes.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "../trace/ws_traced.h"
#include "ws_age.h"
#include "ws_look.h"
#include "ws_root.h"
#include "ws_round.h"
#include "ws_steal.h"

/// Turns of a wait at one of its queues, of which two go as deep as they must.
#define DEEP_EVERY 16u

/// Look in every queue but the one that served last: lanes, then workers from near to far.
static bool steal_elsewhere(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++)
    if (i != here.queue->victim && ws_steal_from(pool, here, i, task))
      return true;
  const uint32_t others = here.worker ? pool->workers - 1 : pool->workers;
  for (uint32_t i = 0; i < others; i++) {
    const uint32_t victim = here.worker ? here.worker->victims[i] : i;
    if (victim != here.queue->victim && ws_steal_from(pool, here, victim, task))
      return true;
  }
  return false;
}

static bool steal_any(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  if (!ws_steal_known(pool, here, task) && !steal_elsewhere(pool, here, task)
      && !ws_steal_again(pool, here, task) && !ws_steal_stray(pool, here, task))
    return false;
  ws_count(&here.queue->count.stolen, 1);
  return true;
}

/// Take the oldest: by settings.fifo, or because a fiber has yielded to the others. If it is alone in the
/// queue, the others are those elsewhere.
static bool take_own_oldest(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  const bool alone = (own->oldest & WS_OLDEST_NEXT) && ws_queue_size(own) <= 1;
  return (alone && steal_any(pool, here, task)) || ws_queue_take_oldest(own, task);
}

/// The search that follows a yield is over.
static void forget_yield(ws_queue_t *queue)
{
  queue->oldest &= ~(uint32_t)WS_OLDEST_NEXT;
}

WS_SELDOM static bool take_own_now(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const bool found = take_own_oldest(pool, here, task);
  forget_yield(here.queue);
  return found;
}

/// Take from the own queue. The tasks that pushed these tasks have ended, or will not join them here.
static bool take_own(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  return here.queue->oldest == 0 ? ws_queue_take(here.queue, task) : take_own_oldest(pool, here, task);
}

static bool find_of(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, ws_task_t *task)
{
  int32_t victim;
  if (!ws_queue_take_kind(&pool->tasks, here.queue, kind, task, &victim))
    return false;
  if (victim < 0)
    return true;
  ws_count(&here.queue->count.stolen, 1);
  ws_traced_steal(pool, here, victim);
  return true;
}

/// Find a task for one of the nodes [first, end), from near to far.
static bool find_of_nodes(struct ws_pool_s *pool, ws_here_t here, const uint8_t *nodes, uint32_t first,
                          uint32_t end, ws_task_t *task)
{
  for (uint32_t i = first; i < end && nodes && i < pool->nodes.count; i++)
    if (find_of(pool, here, WS_KIND_NODE + nodes[i], task))
      return true;
  return false;
}

WS_SELDOM static bool find_by_kind(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint8_t *nodes = ws_nodes_here(&pool->nodes);
  if (ws_steal_starved(pool, here, task) || ws_age_take(pool, here, task)
      || find_of(pool, here, WS_KIND_HIGH, task))
    return true;
  const bool found = take_own(pool, here, task) || find_of_nodes(pool, here, nodes, 0, 1, task)
                     || steal_any(pool, here, task) || find_of_nodes(pool, here, nodes, 1, WS_NODES_MAX, task)
                     || find_of(pool, here, WS_KIND_LOW, task);
  forget_yield(here.queue); // now: it counts for each kind that the search came to
  return found;
}

bool ws_find(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  if (WS_UNLIKELY(ws_kind_is_used(&pool->tasks)))
    return find_by_kind(pool, here, task);
  if (ws_round_search(here.queue) && ws_look_turn(pool, here, task))
    return true;
  return (WS_LIKELY(here.queue->oldest == 0) ? ws_queue_take(here.queue, task)
                                             : take_own_now(pool, here, task))
         || steal_any(pool, here, task);
}

bool ws_find_near(struct ws_pool_s *pool, ws_here_t here)
{
  const ws_queue_t *own = here.queue;
  if (ws_queue_size(own) > 0)
    return true;
  // a thief that waits first does not come back at once
  return own->late_pauses == 0 && ws_queue_is_known(&own->memo, pool->tasks.queue[own->victim]);
}

/// The newest task and the oldest are not of the group: look under them.
WS_SELDOM static bool find_under(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind,
                                 const ws_group_t *group, ws_task_t *task)
{
  bool hid = false;
  const bool found = ws_dig_under(&pool->tasks, here.queue, kind, group, ws_takes_weak(here), task, &hid);
  if (hid)
    ws_fill_place(pool, here); // a worker may have gone to sleep meanwhile
  return found;
}

/// Take a task that the wait may run from the caller's own queue.
static inline bool find_own_of(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind,
                               const ws_group_t *group, ws_task_t *task)
{
  return ws_dig_top(&pool->tasks, here.queue, kind, group, ws_takes_weak(here), task)
         || find_under(pool, here, kind, group, task);
}

/// As find_own_of(): high priority, normal, nodes from near to far, low priority.
WS_SELDOM static bool find_own_by_kind(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group,
                                       ws_task_t *task)
{
  if (find_own_of(pool, here, WS_KIND_HIGH, group, task)
      || find_own_of(pool, here, WS_KIND_NORMAL, group, task))
    return true;
  const uint8_t *nodes = ws_nodes_here(&pool->nodes);
  for (uint32_t i = 0; nodes && i < pool->nodes.count; i++)
    if (find_own_of(pool, here, WS_KIND_NODE + nodes[i], group, task))
      return true;
  return find_own_of(pool, here, WS_KIND_LOW, group, task);
}

bool ws_find_turn(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  void (*const yielded)(void *arg) = own->oldest & WS_OLDEST_NEXT ? own->yielded : NULL;
  forget_yield(own);
  ws_round_begin(own);
  const uint32_t kinds = ws_queue_more(own) ? pool->tasks.kinds : 1;
  const uint32_t round = own->turns++, visit = round / kinds; // of each kind
  const ws_turn_t turn = {.kind = (round + 1) % kinds,
                          .down = visit % 2 == 0,
                          .depth_max = visit % DEEP_EVERY < 2 ? ws_dig_depth_max(own) : WS_TURN_DEPTH_MAX};
  const ws_allowed_t allowed = {.group = group, .weak = ws_takes_weak(here), .func = yielded};
  const bool found = ws_dig_turn(&pool->tasks, own, &turn, allowed, task);
  if (found && yielded && task->func == yielded && !ws_group_is(task->group, group, true))
    ws_root_mix(own, task->group); // the fiber may be unrelated: what it pushes is not below the root
  ws_fill_place(pool, here); // other tasks could not be seen for a moment: a worker may have gone to sleep
  return found;
}

bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  if (WS_UNLIKELY(ws_queue_more(here.queue) != NULL))
    return find_own_by_kind(pool, here, group, task);
  return find_own_of(pool, here, WS_KIND_NORMAL, group, task);
}

bool ws_find_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  const bool weak = ws_takes_weak(here);
  for (uint32_t i = 0; i < queues; i++) {
    ws_queue_t *queue = pool->tasks.queue[i];
    if (queue == here.queue || !ws_queue_is_below(queue, group, weak)
        || !ws_queue_steal_under(&pool->tasks, queue, group, weak, task))
      continue;
    ws_count(&here.queue->count.stolen, 1);
    ws_traced_steal(pool, here, (int32_t)i);
    return true;
  }
  return false;
}
