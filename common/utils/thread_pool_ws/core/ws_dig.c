// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "../pool/ws_group_word.h"
#include "../sleep/ws_wake.h"
#include "ws_run.h"

/// Put a task aside, where other workers find it. Without memory for it the task runs now.
static void put_aside(ws_worker_t *worker, const ws_task_t *task)
{
  ws_store_relaxed(&worker->pool->aside_used, 1); // relaxed: before the fence of ws_dig [PARK_DEKKER]
  while (!ws_deque_has_room(&worker->aside, 1)) {
    if (!ws_deque_grow(&worker->aside)) {
      ws_run_whole(worker->pool, &worker->queue, task);
      return;
    }
  }
  ws_deque_push(&worker->aside, task, 1);
}

/// Is a task of the group buried in the own deque under tasks of others?
static bool is_buried(const ws_deque_t *deque, const ws_group_t *group, bool weak)
{
  const ws_ring_t *ring = ws_load_relaxed(&deque->ring); // relaxed: only the owner writes it
  const uint64_t bottom = ws_load_relaxed(&deque->bottom); // relaxed: only the owner writes it
  const uint64_t size = ws_deque_size(deque);
  for (uint64_t i = 1; i <= size; i++)
    // relaxed: only the owner writes it
    if (ws_group_is(ws_load_relaxed(&ring->cell[(bottom - i) & ring->mask].group), group, weak))
      return true;
  return false;
}

/// A thread outside digs this deep in its own queue, and then gives up.
#define DIG_DEPTH_MAX 1024u

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

bool ws_dig_under(ws_queue_t *queue, const ws_group_t *group, ws_task_t *task)
{
  const bool weak = ws_takes_weak((ws_here_t){.queue = queue});
  uint32_t lifted = 0;
  bool found = false;
  const uint64_t before = ws_load_relaxed(&queue->deque.bottom); // relaxed: only the owner writes it
  while (!found && lifted < DIG_DEPTH_MAX && ws_deque_take(&queue->deque, task)) {
    found = ws_group_is(task->group, group, weak);
    lifted += !found;
  }
  put_back(&queue->deque, before - lifted, lifted);
  const uint64_t bottom = ws_load_relaxed(&queue->deque.bottom); // relaxed: only the owner writes it
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->index - (before - lifted)) >= 0)
      mark->index += bottom - before;
  return found;
}

/// A worker puts what lies above aside: it may lie there for long.
static bool dig_aside(ws_worker_t *worker, const ws_group_t *group, ws_task_t *task)
{
  while (ws_deque_take(&worker->queue.deque, task)) {
    if (ws_group_is(task->group, group, true))
      return true;
    put_aside(worker, task);
  }
  return false;
}

static bool find_aside(ws_worker_t *worker, const ws_group_t *group, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  for (uint64_t i = ws_deque_size(&worker->aside); i > 0; i--) {
    ws_steal_t result;
    do
      result = ws_deque_steal(&worker->aside, &memo, task);
    while (result == WS_STEAL_LOST); // another thread got one: the pool as a whole moves
    if (result == WS_STEAL_EMPTY)
      return false;
    if (ws_group_is(task->group, group, true))
      return true;
    put_aside(worker, task);
  }
  return false;
}

bool ws_dig(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const bool buried = is_buried(&here.queue->deque, group, ws_takes_weak(here));
  if (!buried && (!here.worker || ws_deque_size(&here.worker->aside) == 0))
    return false;
  bool found = false;
  if (buried && here.worker)
    found = dig_aside(here.worker, group, task);
  else if (buried)
    found = ws_dig_under(here.queue, group, task);
  if (!found && here.worker)
    found = find_aside(here.worker, group, task);
  ws_fill_place(pool, here); // what was moved could not be seen: a worker may have gone to sleep over it
  return found;
}
