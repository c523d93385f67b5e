// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_look.c
/// ws_find.h.
#include "ws_find.h"

#include "../tasks/ws_queue.h"
#include "ws_round.h"

/// Lanes that one look looks at.
#define LANES_AT_ONCE 8u
/// Ends of rounds from one at which the own oldest task has its turn to the next.
#define OLDEST_EVERY 4u
/// ws_queue_s.look_at: the queues that are of no thread.
#define AT_STRAY UINT32_MAX

static bool plan_lane(struct ws_pool_s *pool, ws_queue_t *own)
{
  const uint32_t lanes = ws_queue_count(&pool->tasks) - pool->workers;
  for (uint32_t i = 0; i < lanes && i < LANES_AT_ONCE; i++) {
    own->look_lane = own->look_lane + 1 < lanes ? own->look_lane + 1 : 0;
    own->look_at = pool->workers + own->look_lane;
    if (pool->tasks.queue[own->look_at] != own && ws_queue_size(pool->tasks.queue[own->look_at]) > 0)
      return true;
  }
  return false;
}

static bool has_stray(struct ws_pool_s *pool)
{
  // a worker that finds nothing looks again before it sleeps
  return ws_hint_load(&pool->tasks.aside_used) || ws_hint_load(&pool->tasks.stuck) > 0
         || ws_shared_visible(&pool->tasks.shared);
}

/// A worker's queue has two visits. The second finds out whether the worker has taken a task since the first.
static bool plan_worker(const struct ws_pool_s *pool, ws_queue_t *own, uint32_t worker)
{
  const ws_queue_t *queue = pool->tasks.queue[worker];
  const uint64_t size = queue != own ? ws_queue_size(queue) : 0;
  const uint64_t steps = size > 0 ? ws_queue_steps(queue) : 0;
  const bool stands = own->look_visits % 2 == 1 && steps == own->look_steps;
  own->look_steps = steps;
  own->look_at = worker;
  return size > 0 && (stands || size > ws_queue_size(own));
}

static bool plan_other(struct ws_pool_s *pool, ws_queue_t *own)
{
  const uint32_t worker = own->look_visits / 2;
  if (worker < pool->workers) {
    const bool planned = plan_worker(pool, own, worker);
    own->look_visits++;
    return planned;
  }
  own->look_visits = 0;
  own->look_at = AT_STRAY;
  return has_stray(pool);
}

/// Choose the place of the next look. Reads the sizes of a few queues only. @return whether take() would
/// probably find a task there
static bool plan(struct ws_pool_s *pool, ws_queue_t *own)
{
  if (++own->looks % 2 == 1)
    return plan_lane(pool, own) || plan_other(pool, own);
  return plan_other(pool, own) || plan_lane(pool, own);
}

static bool take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint32_t at = here.queue->look_at;
  here.queue->look_planned = false;
  if (!(at == AT_STRAY ? ws_steal_stray(pool, here, task) : ws_steal_from(pool, here, at, task)))
    return false;
  ws_count(&here.queue->count.stolen, 1);
  return true;
}

/// A round is over. @return whether another queue holds a task for the thread
static bool look(struct ws_pool_s *pool, ws_queue_t *own)
{
  const bool stopped = ws_round_has_stops(own);
  ws_round_begin(own);
  own->look_planned = plan(pool, own);
  if (own->look_planned && stopped)
    ws_round_shorten(own);
  if (stopped && ++own->stop_turns % OLDEST_EVERY == 0)
    own->oldest |= WS_OLDEST_NEXT; // after the look
  return own->look_planned;
}

bool ws_look_ahead(struct ws_pool_s *pool, ws_here_t here)
{
  if (!look(pool, here.queue))
    return false;
  ws_round_cut(here.queue);
  return true;
}

bool ws_look_turn(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  if (own->look_planned) {
    ws_round_begin(own);
    return take(pool, here, task);
  }
  if (own->oldest == 0 && !ws_round_has_stops(own) && ++own->turns % OLDEST_EVERY == 0) {
    ws_round_begin(own);
    return ws_queue_take_oldest(own, task);
  }
  return look(pool, own) && take(pool, here, task);
}
