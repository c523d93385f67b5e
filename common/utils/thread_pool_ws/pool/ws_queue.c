// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.c
/// ws_queue.h: the operations that look at a task's group, and the rare ones.
#include "ws_queue.h"

#include "ws_grouped.h"
#include "ws_kind.h"

bool ws_queue_take_of(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task)
{
  return ws_grouped_take(&queue->deque, group, weak, task);
}

bool ws_queue_holds(const ws_queue_t *queue, const ws_group_t *group, bool weak)
{
  return ws_grouped_depth(&queue->deque, group, weak) > 0;
}

/// The tasks from index moved->from on lie elsewhere.
static void move_marks(const ws_queue_t *queue, const ws_moved_t *moved)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->index - moved->from) >= 0)
      mark->index += moved->by;
}

bool ws_queue_take_under(ws_queue_t *queue, const ws_group_t *group, bool weak, uint32_t depth_max,
                         ws_task_t *task)
{
  ws_moved_t moved;
  ws_deque_t *deque = &queue->deque;
  const bool found = ws_grouped_take_under(deque, deque, group, weak, depth_max, task, &moved);
  move_marks(queue, &moved);
  return found;
}

bool ws_queue_take_turn(ws_queue_t *queue, const ws_allowed_t *allowed, bool down, uint32_t depth_max,
                        ws_task_t *task)
{
  ws_moved_t moved;
  const bool found = ws_grouped_take_turn(&queue->deque, allowed, down, depth_max, task, &moved);
  move_marks(queue, &moved);
  return found;
}

uint64_t ws_queue_sift(struct ws_pool_s *pool, ws_queue_t *queue,
                       bool (*takes)(const ws_task_t *task, void *arg), void *arg)
{
  return ws_grouped_sift(&queue->deque, takes, arg) + ws_kind_sift(pool, queue, takes, arg);
}

bool ws_queue_grow(ws_queue_t *queue)
{
  return ws_deque_grow(&queue->deque);
}

bool ws_queue_shrink(ws_queue_t *queue)
{
  const bool others = ws_kind_queues(queue) && ws_kind_shrink(queue);
  return ws_deque_shrink(&queue->deque) || others;
}

void ws_queue_touch(ws_queue_t *queue)
{
  ws_deque_touch(&queue->deque);
}

bool ws_queue_steal_under(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task)
{
  return ws_grouped_steal_under(&queue->deque, &queue->root, group, weak, task);
}

uint64_t ws_queue_steps(const ws_queue_t *queue)
{
  // run alone would not do: it is counted late, for many tasks of a group at once. top moves when the oldest
  // task is taken, also by the owner; takes when the newest is; stolen counts what came from no deque here
  uint64_t steps = ws_load_relaxed(&queue->count.run); // relaxed: compared with itself
  steps += ws_load_relaxed(&queue->count.stolen); // relaxed: as run
  steps += ws_load_relaxed(&queue->deque.takes); // relaxed: as run
  steps += ws_load_relaxed(&queue->deque.top); // relaxed: as run
  return steps + ws_kind_steps(queue);
}

bool ws_aside_put(ws_worker_t *worker, const ws_task_t *task)
{
  ws_store_relaxed(&worker->pool->aside_used, 1); // relaxed: before the fence of ws_dig [PARK_DEKKER]
  while (!ws_deque_has_room(&worker->aside, 1))
    if (!ws_deque_grow(&worker->aside))
      return false;
  if (WS_UNLIKELY(ws_load_relaxed(&worker->pool->kinds_used))) // relaxed: a preference
    ws_deque_stamp(&worker->aside, 0, ws_os_now_ns());
  ws_deque_push(&worker->aside, task, 1);
  return true;
}

static bool steal_oldest(ws_deque_t *deque, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  ws_steal_t result;
  do
    result = ws_deque_steal(deque, &memo, task);
  while (result == WS_STEAL_LOST); // another thread got one: the pool as a whole moves
  return result == WS_STEAL_GOT;
}

bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task)
{
  return ws_queue_size(queue) > 0 && steal_oldest(&queue->deque, task); // mostly empty: no fence of a steal
}

bool ws_aside_steal(ws_worker_t *worker, ws_task_t *task)
{
  return steal_oldest(&worker->aside, task);
}

bool ws_queue_trim(ws_queue_t *queue, bool now)
{
  const bool others = ws_kind_queues(queue) && ws_kind_trim(queue, now);
  return ws_deque_has_loose(&queue->deque, now) || others;
}

bool ws_aside_trim(ws_worker_t *worker, bool now)
{
  return ws_deque_has_loose(&worker->aside, now);
}

void ws_aside_shrink(ws_worker_t *worker)
{
  ws_deque_shrink(&worker->aside);
}

void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity)
{
  ws_deque_init(&queue->deque, cells, capacity);
  queue->round_left = queue->round_stops = queue->stops_left = 1; // the first search ends a round
}

void ws_aside_init(ws_worker_t *worker, ws_cell_t *cells, uint64_t capacity)
{
  ws_deque_init(&worker->aside, cells, capacity);
}

void ws_queue_free(ws_queue_t *queue)
{
  ws_deque_free(&queue->deque);
  ws_kind_free(queue);
}

void ws_aside_free(ws_worker_t *worker)
{
  ws_deque_free(&worker->aside);
}

uint64_t ws_queue_grown_bytes(const ws_queue_t *queue)
{
  return ws_load_relaxed(&queue->deque.grown_bytes) + ws_kind_bytes(queue); // relaxed: a statistic
}

uint64_t ws_aside_grown_bytes(const ws_worker_t *worker)
{
  return ws_load_relaxed(&worker->aside.grown_bytes); // relaxed: a statistic
}

uint64_t ws_queue_waited_ns(const ws_queue_t *queue, uint64_t now_ns)
{
  return ws_deque_waited_ns(&queue->deque, now_ns);
}

uint64_t ws_aside_waited_ns(const ws_worker_t *worker, uint64_t now_ns)
{
  return ws_deque_waited_ns(&worker->aside, now_ns);
}

uint64_t ws_queue_high_water(const ws_queue_t *queue)
{
  const uint64_t high_water = ws_load_relaxed(&queue->deque.high_water); // relaxed: a statistic
  const uint64_t of_kinds = ws_kind_high_water(queue);
  return high_water > of_kinds ? high_water : of_kinds;
}
