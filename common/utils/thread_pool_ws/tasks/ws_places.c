// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_places.c
/// ws_places.h.
#include "ws_places.h"

#include "../wide/ws_inbox.h"
#include "../wide/ws_wide.h"
#include "ws_queue.h"
#include "ws_shared.h"

bool ws_place_holds(const ws_tasks_t *tasks, uint32_t place)
{
  return place < tasks->kinds ? ws_shared_holds(tasks, place)
                              : ws_deque_size(&tasks->queue[place - tasks->kinds]->deque) > 0;
}

bool ws_place_take(ws_tasks_t *tasks, uint32_t place, ws_task_t *task)
{
  return place < tasks->kinds ? ws_shared_take(tasks, place, NULL, task)
                              : ws_queue_take_oldest(tasks->queue[place - tasks->kinds], task);
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
  return ws_shared_visible(tasks) || ws_inbox_stuck(tasks) > 0;
}

uint64_t ws_queued(const ws_tasks_t *tasks)
{
  uint64_t queued = 0;
  const uint32_t queues = ws_queue_count(tasks);
  for (uint32_t i = ws_summary_next(tasks, 0); i < queues; i = ws_summary_next(tasks, i + 1))
    queued += ws_deque_size(&tasks->queue[i]->deque);
  return queued + ws_shared_count(tasks) + ws_inbox_stuck(tasks);
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
