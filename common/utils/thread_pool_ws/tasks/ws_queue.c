// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.c
/// ws_queue.h: the rare operations.
#include "ws_queue.h"

void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity)
{
  ws_deque_init(&queue->deque, cells, capacity);
  queue->round.left = WS_ROUND_SEARCHES;
  queue->round.stops = queue->round.stops_left = 1; // the first stop of a fiber ends a round
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
