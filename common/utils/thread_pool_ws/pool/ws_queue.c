// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.c
/// ws_queue.h: the operations that look at a task's group, and the rare ones.
#include "ws_queue.h"

static bool take_newest_of(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task)
{
  return ws_deque_peek(deque, task) && ws_group_is(task->group, group, weak) && ws_deque_take(deque, task);
}

bool ws_queue_take_of(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_deque_t *deque = &queue->deque;
  ws_steal_memo_t memo = {0};
  uint64_t index;
  if (take_newest_of(deque, group, weak, task))
    return true;
  while (ws_deque_steal_peek(deque, &memo, task, &index) && ws_group_is(task->group, group, weak))
    if (ws_deque_steal_commit(deque, index))
      return true;
  return false;
}

bool ws_queue_holds(const ws_queue_t *queue, const ws_group_t *group, bool weak)
{
  const ws_ring_t *ring = ws_load_relaxed(&queue->deque.ring); // relaxed: only the owner writes it
  const uint64_t bottom = ws_queue_end(queue), size = ws_queue_size(queue);
  for (uint64_t i = 1; i <= size; i++)
    // relaxed: only the owner writes it
    if (ws_group_is(ws_load_relaxed(&ring->cell[(bottom - i) & ring->mask].group), group, weak))
      return true;
  return false;
}

/// Push once more the @p count tasks that were taken from index @p first on, in their order. Their cells
/// still hold them, for nothing was pushed since. They come to lie one index lower, the same, or one higher:
/// so each is read before the one below it is written.
static void put_back(ws_deque_t *deque, uint64_t first, uint64_t count)
{
  const ws_ring_t *ring = ws_load_relaxed(&deque->ring); // relaxed: only the owner writes it
  ws_task_t task, next;
  ws_cell_read(&ring->cell[first & ring->mask], &next);
  for (uint64_t i = 1; i <= count; i++) {
    task = next;
    ws_cell_read(&ring->cell[(first + i) & ring->mask], &next);
    ws_deque_push(deque, &task, 1); // there is room: it lay here before
  }
}

bool ws_queue_take_under(ws_queue_t *queue, const ws_group_t *group, bool weak, uint32_t depth_max,
                         ws_task_t *task)
{
  uint32_t lifted = 0;
  bool found = false;
  const uint64_t before = ws_queue_end(queue);
  while (!found && lifted < depth_max && ws_deque_take(&queue->deque, task)) {
    found = ws_group_is(task->group, group, weak);
    lifted += !found;
  }
  put_back(&queue->deque, before - lifted, lifted);
  const uint64_t end = ws_queue_end(queue);
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->index - (before - lifted)) >= 0)
      mark->index += end - before;
  return found;
}

bool ws_queue_grow(ws_queue_t *queue)
{
  return ws_deque_grow(&queue->deque);
}

bool ws_queue_shrink(ws_queue_t *queue)
{
  return ws_deque_shrink(&queue->deque);
}

void ws_queue_touch(ws_queue_t *queue)
{
  ws_deque_touch(&queue->deque);
}

bool ws_queue_steal_under(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  uint64_t index;
  // The task lay there while the root was this group, if the root is read after the task and the CAS finds
  // it still there: to change its root the owner must empty its deque, which moves top on.
  while (ws_deque_steal_peek(&queue->deque, &memo, task, &index)) {
    // [edge ROOT acquire] not older than the task
    if (!ws_group_is(ws_load_acquire(&queue->root), group, weak))
      return false;
    if (ws_deque_steal_commit(&queue->deque, index))
      return true;
  }
  return false;
}

uint64_t ws_queue_steps(const ws_queue_t *queue)
{
  // run alone would not do: it is counted late, for many tasks of a group at once. top moves when the oldest
  // task is taken, also by the owner; takes when the newest is; stolen counts what came from no deque here
  uint64_t steps = ws_load_relaxed(&queue->count.run); // relaxed: compared with itself
  steps += ws_load_relaxed(&queue->count.stolen); // relaxed: as run
  steps += ws_load_relaxed(&queue->deque.takes); // relaxed: as run
  return steps + ws_load_relaxed(&queue->deque.top); // relaxed: as run
}

bool ws_aside_put(ws_worker_t *worker, const ws_task_t *task)
{
  ws_store_relaxed(&worker->pool->aside_used, 1); // relaxed: before the fence of ws_dig [PARK_DEKKER]
  while (!ws_deque_has_room(&worker->aside, 1))
    if (!ws_deque_grow(&worker->aside))
      return false;
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

static bool trim(ws_deque_t *deque, bool now)
{
  if (ws_load_relaxed(&deque->loose) != WS_LOOSE_PAGES) // relaxed: ws_deque_trim decides
    return false;
  if (now)
    ws_deque_trim(deque);
  return true;
}

bool ws_queue_trim(ws_queue_t *queue, bool now)
{
  return trim(&queue->deque, now);
}

bool ws_aside_trim(ws_worker_t *worker, bool now)
{
  return trim(&worker->aside, now);
}

void ws_aside_shrink(ws_worker_t *worker)
{
  ws_deque_shrink(&worker->aside);
}

void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity)
{
  ws_deque_init(&queue->deque, cells, capacity);
}

void ws_aside_init(ws_worker_t *worker, ws_cell_t *cells, uint64_t capacity)
{
  ws_deque_init(&worker->aside, cells, capacity);
}

void ws_queue_free(ws_queue_t *queue)
{
  ws_deque_free(&queue->deque);
}

void ws_aside_free(ws_worker_t *worker)
{
  ws_deque_free(&worker->aside);
}

uint64_t ws_queue_grown_bytes(const ws_queue_t *queue)
{
  return ws_load_relaxed(&queue->deque.grown_bytes); // relaxed: a statistic
}

uint64_t ws_aside_grown_bytes(const ws_worker_t *worker)
{
  return ws_load_relaxed(&worker->aside.grown_bytes); // relaxed: a statistic
}

uint64_t ws_queue_high_water(const ws_queue_t *queue)
{
  return ws_load_relaxed(&queue->deque.high_water); // relaxed: a statistic
}
