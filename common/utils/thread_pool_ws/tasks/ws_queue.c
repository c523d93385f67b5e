// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.c
/// ws_queue.h: the rare operations.
#include "ws_queue.h"

#include "ws_inbox.h"
#include "ws_shared.h"

void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity, bool fifo)
{
  ws_deque_init(&queue->deque, cells, capacity);
  queue->oldest = fifo ? WS_OLDEST_ALWAYS : 0;
  // the first stop of a fiber ends a round
  queue->round = (ws_round_t){.left = WS_ROUND_SEARCHES, .stops = 1, .stops_left = 1};
}

bool ws_queue_room(ws_queue_t *queue, bool grow)
{
  while (!ws_deque_has_room(&queue->deque, 1)) {
    if (!grow || !ws_deque_grow(&queue->deque))
      return false;
    ws_count(&queue->count.growths, 1);
  }
  return true;
}

void ws_queue_shrink(ws_tasks_t *tasks, ws_queue_t *queue)
{
  if (WS_UNLIKELY(ws_deque_shrink(&queue->deque)))
    ws_xchg_acq_rel(&tasks->loose, 1); // [edge TRIM_DUE acq_rel] the deque's own word before, and others'
}

bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  // mostly empty: no fence of a steal
  return ws_deque_size(&queue->deque) > 0 && ws_deque_steal_one(&queue->deque, &memo, task);
}

uint64_t ws_queue_steps(const ws_queue_t *queue)
{
  // run alone would not do: it is counted late, for many tasks of a group at once. top moves when the oldest
  // task is taken, also by the owner; takes when the newest is; stolen counts what came from no deque here
  return ws_load_relaxed(&queue->count.run) // relaxed: compared with itself
         + ws_load_relaxed(&queue->count.stolen) // relaxed: as run
         + ws_load_relaxed(&queue->deque.takes) // relaxed: as run
         + ws_load_relaxed(&queue->deque.top); // relaxed: as run
}

// All places.

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

void ws_queues_trim(ws_tasks_t *tasks)
{
  // [edge TRIM_DUE acq_rel] first: a queue that shrinks from now on is trimmed next time
  if (ws_xchg_acq_rel(&tasks->loose, 0) == 0)
    return;
  for (uint32_t i = ws_queue_count(tasks); i-- > 0;)
    ws_deque_trim(&tasks->queue[i]->deque);
  for (ws_kind_t kind = 0; kind < tasks->kinds; kind++)
    ws_shared_trim(&tasks->shared[kind]);
}
