// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "ws_group_word.h"
#include "ws_park.h"
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

/// @param lifted  out: tasks that lay above and were put back
static bool lift(ws_deque_t *deque, const ws_group_t *group, uint32_t *lifted, ws_task_t *task)
{
  if (!ws_deque_take(deque, task))
    return false;
  if (ws_group_is(task->group, group, false))
    return true;
  const ws_task_t above = *task;
  const bool found = ++*lifted <= DIG_DEPTH_MAX && lift(deque, group, lifted, task);
  ws_deque_push(deque, &above, 1); // there is room: it lay here before
  return found;
}

bool ws_dig_under(ws_queue_t *queue, const ws_group_t *group, ws_task_t *task)
{
  uint32_t lifted = 0;
  const uint64_t before = ws_load_relaxed(&queue->deque.bottom); // relaxed: only the owner writes it
  const bool found = lift(&queue->deque, group, &lifted, task);
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
  const bool buried = is_buried(&here.queue->deque, group, here.worker);
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
