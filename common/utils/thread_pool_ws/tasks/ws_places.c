// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_places.c
/// ws_places.h.
#include "ws_places.h"

#include "ws_inbox.h"
#include "ws_queue.h"
#include "ws_shared.h"

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
  if (at->where == WS_AT_NONE)
    *at = (ws_place_t){.where = WS_AT_DEQUE,
                       .index = ws_queue_count(tasks)}; // lanes first: they hold the bursts
  if (at->where == WS_AT_DEQUE && at->index-- > 0)
    return true;
  if (at->where == WS_AT_DEQUE)
    *at = (ws_place_t){.where = WS_AT_SHARED, .index = tasks->kinds};
  if (at->where == WS_AT_SHARED && at->index-- > 0)
    return true;
  return next_inbox(tasks, at);
}

bool ws_place_holds(const ws_tasks_t *tasks, const ws_place_t *place)
{
  switch (place->where) {
    case WS_AT_DEQUE:
      return ws_deque_size(&tasks->queue[place->index]->deque) > 0;
    case WS_AT_SHARED:
      return ws_shared_size(tasks, place->index) > 0;
    case WS_AT_INBOX:
      return ws_inbox_is_stuck(tasks->inbox[place->index]);
    default:
      return false;
  }
}

bool ws_place_take(ws_tasks_t *tasks, const ws_place_t *place, ws_task_t *task)
{
  switch (place->where) {
    case WS_AT_DEQUE:
      return ws_queue_take_oldest(tasks->queue[place->index], task);
    case WS_AT_SHARED:
      return ws_shared_take(tasks, place->index, task);
    case WS_AT_INBOX:
      return ws_inbox_take_stuck(tasks->inbox[place->index], task);
    default:
      return false;
  }
}

/// @return stuck inboxes, about
static uint32_t stuck_in(const ws_tasks_t *tasks)
{
  uint32_t count = 0;
  // relaxed: the guard has written it before it had a worker woken, or after the caller's fence [PARK_DEKKER]
  for (uint32_t i = 0; ws_load_relaxed(&tasks->stuck) > 0 && i < tasks->workers; i++)
    count += ws_inbox_is_stuck(tasks->inbox[i]);
  return count;
}

bool ws_work_visible(const ws_tasks_t *tasks)
{
  const uint32_t workers = tasks->summaries > 0 ? tasks->workers : 0; // whose bits are read
  for (uint32_t i = ws_queue_count(tasks); i-- > workers;)
    if (ws_deque_size(&tasks->queue[i]->deque) > 0)
      return true;
  for (uint32_t i = ws_summary_next(tasks, 0); i < workers; i = ws_summary_next(tasks, i + 1))
    if (ws_deque_size(&tasks->queue[i]->deque) > 0)
      return true;
  return ws_shared_visible(tasks) || stuck_in(tasks) > 0;
}

uint64_t ws_queued(const ws_tasks_t *tasks)
{
  uint64_t queued = 0;
  const uint32_t queues = ws_queue_count(tasks);
  for (uint32_t i = ws_summary_next(tasks, 0); i < queues; i = ws_summary_next(tasks, i + 1))
    queued += ws_deque_size(&tasks->queue[i]->deque);
  return queued + ws_shared_count(tasks) + stuck_in(tasks);
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
    ws_deque_trim(&tasks->queue[i]->deque);
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
