// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_places.c
/// ws_places.h.
#include "ws_places.h"

#include "ws_inbox.h"
#include "ws_queue.h"

/// @return deques of a queue that a task may lie in
static uint32_t deques_in_use(const ws_tasks_t *tasks, const ws_queue_t *queue)
{
  // relaxed: after the caller's fence [PARK_DEKKER]
  if (WS_UNLIKELY(ws_load_relaxed(&tasks->kinds_made)))
    return ws_queue_deques(queue);
  return ws_load_relaxed(&tasks->aside_used) ? WS_DEQUES_FIRST : 1; // relaxed: as above
}

static bool next_inbox(const ws_tasks_t *tasks, ws_place_t *at)
{
  const uint32_t next = at->where == WS_AT_INBOX ? at->index + 1 : 0;
  // relaxed: the guard has written it before it had a worker woken, or after the caller's fence [PARK_DEKKER]
  const bool are_any = next > 0 || ws_load_relaxed(&tasks->stuck) > 0;
  *at = (ws_place_t){.where = are_any && next < tasks->workers ? WS_AT_INBOX : WS_AT_NONE, .index = next};
  return at->where != WS_AT_NONE;
}

bool ws_places_next(const ws_tasks_t *tasks, ws_place_t *at)
{
  if (at->where == WS_AT_SHARED || at->where == WS_AT_INBOX)
    return next_inbox(tasks, at);
  if (at->where == WS_AT_NONE)
    at->index = ws_queue_count(tasks); // lanes first: they hold the bursts
  else if (++at->deque < deques_in_use(tasks, tasks->queue[at->index]))
    return true;
  at->deque = 0;
  at->where = at->index > 0 ? WS_AT_DEQUE : WS_AT_SHARED;
  at->index -= at->index > 0;
  return true;
}

ws_kind_t ws_place_kind(const ws_place_t *place)
{
  return place->where == WS_AT_DEQUE ? ws_kind_of_deque(place->deque) : WS_KIND_NORMAL;
}

static ws_deque_t *deque_at(const ws_tasks_t *tasks, const ws_place_t *place)
{
  return ws_queue_deque(tasks->queue[place->index], place->deque);
}

bool ws_place_holds(const ws_tasks_t *tasks, const ws_place_t *place)
{
  switch (place->where) {
    case WS_AT_DEQUE:
      return ws_deque_size(deque_at(tasks, place)) > 0;
    case WS_AT_SHARED:
      return ws_shared_visible(&tasks->shared);
    case WS_AT_INBOX:
      return ws_inbox_is_stuck(tasks->inbox[place->index]);
    default:
      return false;
  }
}

uint64_t ws_place_size(const ws_tasks_t *tasks, const ws_place_t *place)
{
  switch (place->where) {
    case WS_AT_DEQUE:
      return ws_deque_size(deque_at(tasks, place));
    case WS_AT_SHARED:
      return ws_shared_size(&tasks->shared);
    default:
      return ws_place_holds(tasks, place);
  }
}

bool ws_place_take(ws_tasks_t *tasks, const ws_place_t *place, ws_task_t *task)
{
  switch (place->where) {
    case WS_AT_DEQUE:
      return ws_queue_steal_at(tasks, tasks->queue[place->index], place->deque, task);
    case WS_AT_SHARED:
      return ws_shared_take(&tasks->shared, task);
    case WS_AT_INBOX:
      return ws_inbox_take_stuck(tasks->inbox[place->index], task);
    default:
      return false;
  }
}

/// @return whether a task may lie elsewhere than in the first deques and the shared queue
static bool may_lie_elsewhere(const ws_tasks_t *tasks)
{
  // relaxed: after the caller's fence [PARK_DEKKER], or a statistic
  return (ws_load_relaxed(&tasks->kinds_made) | ws_load_relaxed(&tasks->aside_used)
          | ws_load_relaxed(&tasks->stuck))
         != 0;
}

/// @return whether a normal task waits that was not put aside
static bool is_any_in_deques(const ws_tasks_t *tasks)
{
  const uint32_t workers = tasks->summaries > 0 ? tasks->workers : 0; // whose bits are read
  for (uint32_t i = ws_queue_count(tasks); i-- > workers;)
    if (ws_queue_size(tasks->queue[i]) > 0)
      return true;
  for (uint32_t i = ws_summary_next(tasks, 0); i < workers; i = ws_summary_next(tasks, i + 1))
    if (ws_queue_size(tasks->queue[i]) > 0)
      return true;
  return false;
}

bool ws_work_visible(ws_tasks_t *tasks)
{
  if (is_any_in_deques(tasks)) // mostly all: a thread that spins looks here
    return true;
  if (WS_LIKELY(!may_lie_elsewhere(tasks)))
    return ws_shared_visible(&tasks->shared);
  for (ws_place_t at = {0}; ws_places_next(tasks, &at);) {
    if (!ws_place_holds(tasks, &at))
      continue;
    if (WS_UNLIKELY(ws_place_kind(&at) != WS_KIND_NORMAL))
      ws_kind_use(tasks); // else searches could miss the task
    return true;
  }
  return false;
}

uint64_t ws_queued(const ws_tasks_t *tasks)
{
  uint64_t queued = 0;
  if (WS_UNLIKELY(may_lie_elsewhere(tasks))) {
    for (ws_place_t at = {0}; ws_places_next(tasks, &at);)
      queued += ws_place_size(tasks, &at);
    return queued;
  }
  const uint32_t queues = ws_queue_count(tasks);
  for (uint32_t i = ws_summary_next(tasks, 0); i < queues; i = ws_summary_next(tasks, i + 1))
    queued += ws_queue_size(tasks->queue[i]);
  return queued + ws_shared_size(&tasks->shared);
}

bool ws_queues_need_trim(const ws_tasks_t *tasks)
{
  return ws_load_acquire(&tasks->loose); // [edge TRIM_DUE acquire] the guard is dormant since its last trim
}

void ws_queues_trim(ws_tasks_t *tasks)
{
  // [edge TRIM_DUE acq_rel] first: a queue that shrinks from now on is trimmed next time
  if (ws_xchg_acq_rel(&tasks->loose, 0) == 0)
    return;
  for (uint32_t i = ws_queue_count(tasks); i-- > 0;)
    ws_queue_trim(tasks->queue[i]);
}

bool ws_places_steal_aside(ws_tasks_t *tasks, ws_task_t *task)
{
  if (WS_LIKELY(!ws_hint_load(&tasks->aside_used))) // ws_park looks after a fence
    return false;
  for (uint32_t i = 0; i < tasks->workers; i++)
    if (ws_queue_steal_at(tasks, tasks->queue[i], 1, task))
      return true;
  return false;
}

bool ws_places_take_stuck(ws_tasks_t *tasks, ws_task_t *task)
{
  // relaxed: the guard has written it before it had a worker woken
  if (WS_LIKELY(ws_load_relaxed(&tasks->stuck) == 0))
    return false;
  for (uint32_t i = 0; i < tasks->workers; i++)
    if (ws_inbox_take_stuck(tasks->inbox[i], task))
      return true;
  return false;
}
