// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_priority.c
/// ws_priority.h.
#include "ws_priority.h"

#include "ws_grouped.h"

static ws_deque_t *queue_of(ws_priority_queues_t *queues, ws_priority_t priority)
{
  return &queues->deque[priority - 1];
}

/// All waits of the owner began before these queues were made: all tasks in them are the waits'.
static void mark_all(const ws_queue_t *queue)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    for (uint32_t i = 0; i < WS_OTHER_PRIORITIES; i++)
      mark->other_index[i] = 1;
}

static ws_priority_queues_t *make(const struct ws_pool_s *pool, ws_queue_t *queue)
{
  const uint64_t capacity = pool->settings.queue_capacity;
  const size_t bytes = sizeof(ws_priority_queues_t) + WS_OTHER_PRIORITIES * capacity * sizeof(ws_cell_t);
  ws_priority_queues_t *queues = ws_os_map(bytes);
  if (!queues)
    return NULL;
  queues->bytes = bytes;
  ws_cell_t *cells = (ws_cell_t *)(queues + 1);
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES; i++)
    ws_deque_init(&queues->deque[i], cells + i * capacity, capacity);
  mark_all(queue);
  ws_store_release(&queue->others, queues); // [edge PRIORITY_QUEUES release] their fields
  return queues;
}

ws_deque_t *ws_priority_room(struct ws_pool_s *pool, ws_queue_t *queue, ws_priority_t priority, bool grow)
{
  ws_priority_queues_t *queues = ws_priority_queues(queue);
  if (!queues)
    queues = make(pool, queue);
  if (!queues)
    return NULL;
  ws_deque_t *deque = queue_of(queues, priority);
  while (!ws_deque_has_room(deque, 1)) {
    if (!grow || !ws_deque_grow(deque))
      return NULL;
    ws_count(&queue->count.growths, 1);
  }
  return deque;
}

void ws_priority_push(struct ws_pool_s *pool, ws_deque_t *deque, const ws_task_t *task, uint64_t now_ns)
{
  ws_add_relaxed(&pool->others_queued[task->priority - 1], 1); // relaxed: a hint
  ws_deque_stamp(deque, 0, now_ns);
  ws_deque_push(deque, task, 1);
}

void ws_priority_mark(const ws_queue_t *queue, ws_mark_t *mark)
{
  const ws_priority_queues_t *queues = ws_priority_queues(queue);
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES && queues; i++)
    mark->other_index[i] = ws_load_relaxed(&queues->deque[i].bottom); // relaxed: only the owner writes it
}

/// A task has been taken from a queue of @p priority.
static void note_taken(struct ws_pool_s *pool, ws_priority_t priority, ws_task_t *task)
{
  task->priority = priority;
  ws_sub_relaxed(&pool->others_queued[priority - 1], 1); // relaxed: a hint
}

static bool take_under(ws_queue_t *queue, ws_deque_t *deque, uint32_t which, const ws_group_t *group,
                       bool weak, ws_task_t *task)
{
  ws_moved_t moved;
  const bool found = ws_grouped_take_under(deque, group, weak, UINT32_MAX, task, &moved);
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->other_index[which] - moved.from) >= 0)
      mark->other_index[which] += moved.by;
  return found;
}

bool ws_priority_take_of(struct ws_pool_s *pool, ws_queue_t *queue, ws_priority_t priority,
                         const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_deque_t *deque = queue_of(ws_priority_queues(queue), priority);
  const uint32_t which = priority - 1;
  uint64_t *begin = &queue->mark->other_index[which];
  bool found = ws_grouped_take(deque, group, weak, task);
  if (!found && (int64_t)(ws_load_relaxed(&deque->bottom) - *begin) > 0) // relaxed: only the owner writes it
    found = ws_deque_take(deque, task);
  if (!found && ws_grouped_holds(deque, group, weak))
    found = take_under(queue, deque, which, group, weak, task);
  const uint64_t end = ws_load_relaxed(&deque->bottom); // relaxed: only the owner writes it
  if ((int64_t)(end - *begin) < 0)
    *begin = end;
  if (found)
    note_taken(pool, priority, task);
  return found;
}

bool ws_priority_take_any(struct ws_pool_s *pool, ws_queue_t *queue, ws_task_t *task)
{
  ws_priority_queues_t *queues = ws_priority_queues(queue);
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES && queues; i++)
    if (ws_deque_take(&queues->deque[i], task)) {
      note_taken(pool, (ws_priority_t)(i + 1), task);
      return true;
    }
  return false;
}

bool ws_priority_shrink(ws_queue_t *queue)
{
  ws_priority_queues_t *queues = ws_priority_queues(queue);
  bool shrunk = false;
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES; i++)
    shrunk |= ws_deque_shrink(&queues->deque[i]);
  return shrunk;
}

static bool steal_oldest(ws_deque_t *deque, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  ws_steal_t result = WS_STEAL_EMPTY;
  if (ws_deque_size(deque) > 0)
    do
      result = ws_deque_steal(deque, &memo, task);
    while (result == WS_STEAL_LOST); // another thread got one: the pool as a whole moves
  return result == WS_STEAL_GOT;
}

static bool take_from(const struct ws_pool_s *pool, ws_queue_t *queue, bool own, ws_priority_t priority,
                      ws_task_t *task)
{
  ws_priority_queues_t *queues = ws_priority_queues(queue);
  if (!queues)
    return false;
  ws_deque_t *deque = queue_of(queues, priority);
  return own && !pool->settings.fifo ? ws_deque_take(deque, task) : steal_oldest(deque, task);
}

bool ws_priority_take(struct ws_pool_s *pool, ws_here_t here, ws_priority_t priority, ws_task_t *task,
                      int32_t *victim)
{
  // relaxed: a hint; ws_park looks at the queues after a fence
  if (ws_load_relaxed(&pool->others_queued[priority - 1]) == 0)
    return false;
  *victim = -1;
  bool found = take_from(pool, here.queue, true, priority, task);
  // lanes first: they hold the bursts
  for (uint32_t i = ws_queue_count(pool); !found && i-- > 0; *victim = (int32_t)i)
    found = pool->queue[i] != here.queue && take_from(pool, pool->queue[i], false, priority, task);
  if (found)
    note_taken(pool, priority, task);
  return found;
}

bool ws_priority_steal(struct ws_pool_s *pool, ws_queue_t *queue, ws_priority_t priority, ws_task_t *task)
{
  if (!take_from(pool, queue, false, priority, task))
    return false;
  note_taken(pool, priority, task);
  return true;
}

uint64_t ws_priority_waited_ns(const ws_queue_t *queue, ws_priority_t priority, uint64_t now_ns)
{
  const ws_priority_queues_t *queues = ws_priority_queues(queue);
  return queues ? ws_deque_waited_ns(&queues->deque[priority - 1], now_ns) : 0;
}

uint64_t ws_priority_queued(struct ws_pool_s *pool)
{
  uint64_t queued = 0;
  for (uint32_t i = ws_queue_count(pool); i-- > 0;) {
    const ws_priority_queues_t *queues = ws_priority_queues(pool->queue[i]);
    for (uint32_t k = 0; k < WS_OTHER_PRIORITIES && queues; k++)
      queued += ws_deque_size(&queues->deque[k]);
  }
  return queued;
}

bool ws_priority_trim(ws_queue_t *queue, bool now)
{
  ws_priority_queues_t *queues = ws_priority_queues(queue);
  bool due = false;
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES; i++)
    due |= ws_deque_is_loose(&queues->deque[i], now);
  return due;
}

uint64_t ws_priority_steps(const ws_queue_t *queue)
{
  const ws_priority_queues_t *queues = ws_priority_queues(queue);
  uint64_t steps = 0;
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES && queues; i++) {
    steps += ws_load_relaxed(&queues->deque[i].takes); // relaxed: compared with itself
    steps += ws_load_relaxed(&queues->deque[i].top); // relaxed: as takes
  }
  return steps;
}

uint64_t ws_priority_bytes(const ws_queue_t *queue)
{
  const ws_priority_queues_t *queues = ws_priority_queues(queue);
  uint64_t bytes = queues ? queues->bytes : 0;
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES && queues; i++)
    bytes += ws_load_relaxed(&queues->deque[i].grown_bytes); // relaxed: a statistic
  return bytes;
}

void ws_priority_free(ws_queue_t *queue)
{
  ws_priority_queues_t *queues = ws_priority_queues(queue);
  if (!queues)
    return;
  for (uint32_t i = 0; i < WS_OTHER_PRIORITIES; i++)
    ws_deque_free(&queues->deque[i]);
  ws_os_unmap(queues, queues->bytes);
}
