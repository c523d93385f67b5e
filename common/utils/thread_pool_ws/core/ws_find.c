// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.c
/// ws_find.h: the whole scheduling policy, and what a joining thread may run.
#include "ws_find.h"

#include "../pool/ws_kind.h"
#include "../pool/ws_nodes.h"
#include "../pool/ws_queue.h"
#include "../sleep/ws_wake.h"
#include "../trace/ws_traced.h"
#include "ws_age.h"
#include "ws_dig.h"
#include "ws_look.h"
#include "ws_round.h"
#include "ws_steal.h"

/// Turns of a wait at one of its queues, of which two go as deep as they must.
#define DEEP_EVERY 16u

/// Look in every queue but the one that served last: lanes, then workers from near to far.
static bool steal_elsewhere(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(pool);
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
  if (!ws_kind_take(pool, here, kind, task, &victim))
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
  if (WS_UNLIKELY(ws_load_relaxed(&pool->kinds_used))) // relaxed: a hint; ws_park looks after a fence
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
  return own->late_pauses == 0 && ws_queue_is_known(&own->memo, pool->queue[own->victim]);
}

static inline bool find_of_group(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group,
                                 ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  if (ws_queue_take_of(own, group, ws_takes_weak(here), task))
    return true;
  if ((int64_t)(ws_queue_end(own) - own->mark->index) > 0 && ws_queue_take(own, task))
    return true;
  // No task there was pushed since the mark, and none must look so afterwards.
  const bool found = ws_dig(pool, here, group, task);
  own->mark->index = ws_queue_end(own);
  return found;
}

static inline bool find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const bool found = find_of_group(pool, here, group, task);
  const uint64_t end = ws_queue_end(here.queue);
  if ((int64_t)(end - here.queue->mark->index) < 0)
    here.queue->mark->index = end;
  return found;
}

static bool find_own_of(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, const ws_group_t *group,
                        ws_task_t *task)
{
  bool hid = false;
  const bool found = ws_kind_take_of(pool, here, kind, group, ws_takes_weak(here), task, &hid);
  if (hid)
    ws_fill_place(pool, here); // a worker may have gone to sleep meanwhile
  return found;
}

/// As find_own, and also in the queues of kinds: high priority, none, nodes from near to far, low priority.
WS_SELDOM static bool find_own_by_kind(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group,
                                       ws_task_t *task)
{
  if (find_own_of(pool, here, WS_KIND_HIGH, group, task) || find_own(pool, here, group, task))
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
  const uint32_t kinds = ws_kind_queues(own) ? pool->kinds : 0, places = kinds + 1;
  const uint32_t round = own->turns++, visit = round / places; // of each place
  const ws_turn_t turn = {.kind = round % places < kinds ? round % places : WS_KIND_NONE,
                          .down = visit % 2 == 0,
                          .depth_max = visit % DEEP_EVERY < 2 ? ws_dig_depth_max(here) : WS_TURN_DEPTH_MAX};
  const ws_allowed_t allowed = {.group = group, .weak = ws_takes_weak(here), .func = yielded};
  return ws_dig_turn(pool, here, allowed, &turn, task);
}

bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  if (WS_UNLIKELY(ws_kind_queues(here.queue) != NULL))
    return find_own_by_kind(pool, here, group, task);
  return find_own(pool, here, group, task);
}

bool ws_find_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(pool);
  const bool weak = ws_takes_weak(here);
  for (uint32_t i = 0; i < queues; i++) {
    ws_queue_t *queue = pool->queue[i];
    if (queue == here.queue || !ws_queue_is_below(queue, group, weak)
        || !(ws_queue_steal_under(queue, group, weak, task)
             || ws_kind_steal_under(pool, queue, group, weak, task)))
      continue;
    ws_count(&here.queue->count.stolen, 1);
    ws_traced_steal(pool, here, (int32_t)i);
    return true;
  }
  return false;
}
