// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_round.c
/// ws_round.h.
#include "ws_round.h"

#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "../trace/ws_traced.h"

/// Stops of a round, at most.
#define STOPS_MAX 16u
/// A round in which fibers stop takes about so long.
#define ROUND_NS 50000u

/// @return whether fibers have stopped in this round
static bool has_stops(const ws_queue_t *queue)
{
  return queue->round.stops_left < queue->round.stops;
}

/// Another queue held a task, and there are perhaps more: the round ends with the first fiber that stops.
static void shorten(ws_queue_t *queue)
{
  queue->round.stops = queue->round.stops_left = 1;
}

void ws_round_begin(ws_queue_t *queue)
{
  const uint32_t stops = queue->round.stops - queue->round.stops_left;
  queue->round.left = WS_ROUND_SEARCHES;
  if (!has_stops(queue))
    return;
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t took_ns = now_ns - queue->round.begun_ns + 1;
  const uint64_t in_time = (uint64_t)stops * ROUND_NS / took_ns;
  const uint32_t most = stops < STOPS_MAX / 2 ? 2 * stops : STOPS_MAX;
  queue->round.stops = in_time == 0 ? 1 : in_time < most ? (uint32_t)in_time : most;
  queue->round.stops_left = queue->round.stops;
  queue->round.begun_ns = now_ns;
}

// The fairness tick.

/// Empty places that a tick passes over, at most.
#define PASSED_MAX 8u

/// @return whether it is the turn of the own normal tasks
static bool is_own_turn(const ws_tasks_t *tasks, const ws_queue_t *own)
{
  return own->round.turn == tasks->kinds + own->index;
}

/// The turn passes to the next place.
static void go_on(const ws_tasks_t *tasks, ws_queue_t *own)
{
  own->round.turn =
      (own->round.turn > 0 ? own->round.turn : ws_places(tasks)) - 1; // the last follows the first
}

/// Go on to a place that holds a task, past PASSED_MAX empty ones at most, and not past the own normal tasks.
/// @return whether it is the turn of such a place now
static bool seek(const ws_tasks_t *tasks, ws_queue_t *own)
{
  for (uint32_t passed = 0; passed < PASSED_MAX && !is_own_turn(tasks, own); passed++) {
    if (ws_place_holds(tasks, own->round.turn))
      return true;
    go_on(tasks, own);
  }
  return false;
}

/// Take the oldest task of the place whose turn it is; the next turn is the next place's. Others may be
/// quicker: then the next task of this place is taken. @return false = none is left there, or others were
/// quicker each time
static bool take_from_place(const ws_search_t *search, ws_task_t *task)
{
  struct ws_pool_s *pool = search->pool;
  const ws_here_t here = search->here;
  const uint32_t place = here.queue->round.turn, kinds = pool->tasks.kinds;
  go_on(&pool->tasks, here.queue);
  if (!ws_place_take(&pool->tasks, place, task))
    return false;
  if (place != kinds + here.queue->index)
    ws_traced_steal(pool, here, place < kinds ? WS_VICTIM_SHARED : (int32_t)(place - kinds));
  return true;
}

bool ws_take_stuck(ws_search_t *search, ws_task_t *task)
{
  if (!ws_inbox_take_stuck(&search->pool->tasks, task))
    return false;
  ws_traced_steal(search->pool, search->here, WS_VICTIM_INBOX);
  return true;
}

bool ws_tick(ws_search_t *search, ws_task_t *task)
{
  const ws_tasks_t *tasks = &search->pool->tasks;
  ws_queue_t *own = search->here.queue;
  if (WS_UNLIKELY(ws_hint_load(&tasks->stuck) > 0) && ws_take_stuck(search, task)) {
    ws_round_begin(own);
    return true;
  }
  if (is_own_turn(tasks, own)) {
    ws_round_cut(own); // the next search is for others
    if (take_from_place(search, task))
      return true;
  }
  const bool stopped = has_stops(own);
  ws_round_begin(own);
  if (!seek(tasks, own) || !take_from_place(search, task))
    return false;
  if (stopped)
    shorten(own);
  return true;
}

bool ws_tick_ahead(struct ws_pool_s *pool, ws_queue_t *own)
{
  ws_round_begin(own);
  if (is_own_turn(&pool->tasks, own)) // a yield lets the own oldest go first anyway
    go_on(&pool->tasks, own);
  if (!seek(&pool->tasks, own) && ws_hint_load(&pool->tasks.stuck) == 0)
    return false;
  shorten(own);
  ws_round_cut(own);
  return true;
}
