// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind.c
/// ws_kind.h.
#include "ws_kind.h"

#include "ws_grouped.h"
#include "ws_nodes.h"

ws_kind_t ws_kind_of(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (task->priority == WS_PRIORITY_HIGH)
    return WS_KIND_HIGH;
  if (task->priority == WS_PRIORITY_LOW)
    return WS_KIND_LOW;
  const uint32_t node = ws_nodes_of_hint(&pool->nodes, task->node);
  return node == WS_NODE_NONE ? WS_KIND_NONE : WS_KIND_NODE + node;
}

static ws_priority_t priority_of(ws_kind_t kind)
{
  return kind == WS_KIND_HIGH ? WS_PRIORITY_HIGH : kind == WS_KIND_LOW ? WS_PRIORITY_LOW : WS_PRIORITY_NORMAL;
}

/// All waits of the owner began before these queues were made: all tasks in them are the waits'.
static void mark_all(const ws_queue_t *queue, uint32_t kinds)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    for (ws_kind_t kind = 0; kind < kinds; kind++)
      mark->kind_index[kind] = 1;
}

static ws_kind_queues_t *make(const struct ws_pool_s *pool, ws_queue_t *queue)
{
  const uint64_t capacity = pool->settings.queue_capacity;
  const size_t head_bytes = sizeof(ws_kind_queues_t) + pool->kinds * sizeof(ws_deque_t);
  const size_t bytes = head_bytes + pool->kinds * capacity * sizeof(ws_cell_t);
  ws_kind_queues_t *queues = ws_os_map(bytes);
  if (!queues)
    return NULL;
  queues->count = pool->kinds;
  queues->bytes = bytes;
  ws_cell_t *cells = (ws_cell_t *)(queues->deque + pool->kinds);
  for (ws_kind_t kind = 0; kind < pool->kinds; kind++)
    ws_deque_init(&queues->deque[kind], cells + kind * capacity, capacity);
  mark_all(queue, pool->kinds);
  ws_store_release(&queue->kinds, queues); // [edge KIND_QUEUES release] their fields
  return queues;
}

bool ws_kind_reserve(const struct ws_pool_s *pool, ws_queue_t *queue)
{
  return ws_kind_queues(queue) || make(pool, queue);
}

ws_deque_t *ws_kind_room(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, bool grow)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  if (!queues)
    queues = make(pool, queue);
  if (!queues)
    return NULL;
  ws_deque_t *deque = &queues->deque[kind];
  while (!ws_deque_has_room(deque, 1)) {
    if (!grow || !ws_deque_grow(deque))
      return NULL;
    ws_count(&queue->count.growths, 1);
  }
  return deque;
}

void ws_kind_push(struct ws_pool_s *pool, ws_deque_t *deque, ws_kind_t kind, const ws_task_t *task,
                  uint64_t now_ns)
{
  ws_add_relaxed(&pool->kinds_queued[kind], 1); // relaxed: a hint
  ws_deque_stamp(deque, 0, now_ns);
  ws_deque_push(deque, task, 1);
}

void ws_kind_mark(const ws_queue_t *queue, ws_mark_t *mark)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
    // relaxed: only the owner writes it
    mark->kind_index[kind] = ws_load_relaxed(&queues->deque[kind].bottom);
}

/// A task has been taken from a queue of @p kind.
static void note_taken(struct ws_pool_s *pool, ws_kind_t kind, ws_task_t *task)
{
  task->priority = priority_of(kind);
  ws_sub_relaxed(&pool->kinds_queued[kind], 1); // relaxed: a hint
}

static bool take_under(ws_queue_t *queue, ws_deque_t *deque, ws_kind_t kind, const ws_group_t *group,
                       bool weak, ws_task_t *task)
{
  ws_moved_t moved;
  const bool found = ws_grouped_take_under(deque, group, weak, UINT32_MAX, task, &moved);
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->kind_index[kind] - moved.from) >= 0)
      mark->kind_index[kind] += moved.by;
  return found;
}

bool ws_kind_take_of(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, const ws_group_t *group,
                     bool weak, ws_task_t *task, bool *hid)
{
  ws_deque_t *deque = &ws_kind_queues(queue)->deque[kind];
  uint64_t *begin = &queue->mark->kind_index[kind];
  bool found = ws_grouped_take(deque, group, weak, task);
  if (!found && (int64_t)(ws_load_relaxed(&deque->bottom) - *begin) > 0) // relaxed: only the owner writes it
    found = ws_deque_take(deque, task);
  if (!found && ws_grouped_holds(deque, group, weak)) {
    found = take_under(queue, deque, kind, group, weak, task);
    *hid = true;
  }
  const uint64_t end = ws_load_relaxed(&deque->bottom); // relaxed: only the owner writes it
  if ((int64_t)(end - *begin) < 0)
    *begin = end;
  if (found)
    note_taken(pool, kind, task);
  return found;
}

bool ws_kind_take_oldest_for(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, ws_allowed_t allowed,
                             ws_task_t *task)
{
  allowed.from = queue->mark->kind_index[kind];
  if (ws_grouped_take_oldest(&ws_kind_queues(queue)->deque[kind], &allowed, false, task) != WS_TOOK_ALLOWED)
    return false;
  note_taken(pool, kind, task);
  return true;
}

bool ws_kind_take_any(struct ws_pool_s *pool, ws_queue_t *queue, ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
    if (ws_deque_take(&queues->deque[kind], task)) {
      note_taken(pool, kind, task);
      return true;
    }
  return false;
}

bool ws_kind_shrink(ws_queue_t *queue)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  bool shrunk = false;
  for (ws_kind_t kind = 0; kind < queues->count; kind++)
    shrunk |= ws_deque_shrink(&queues->deque[kind]);
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

static bool take_from(ws_queue_t *queue, bool own, ws_kind_t kind, ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  if (!queues)
    return false;
  ws_deque_t *deque = &queues->deque[kind];
  return own && queue->oldest == 0 ? ws_deque_take(deque, task) : steal_oldest(deque, task);
}

bool ws_kind_take(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, ws_task_t *task, int32_t *victim)
{
  // relaxed: a hint; ws_park looks at the queues after a fence
  if (ws_load_relaxed(&pool->kinds_queued[kind]) == 0)
    return false;
  *victim = -1;
  bool found = take_from(here.queue, true, kind, task);
  // lanes first: they hold the bursts
  for (uint32_t i = ws_queue_count(pool); !found && i-- > 0; *victim = (int32_t)i)
    found = pool->queue[i] != here.queue && take_from(pool->queue[i], false, kind, task);
  if (found)
    note_taken(pool, kind, task);
  return found;
}

bool ws_kind_steal(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, ws_task_t *task)
{
  if (!take_from(queue, false, kind, task))
    return false;
  note_taken(pool, kind, task);
  return true;
}

bool ws_kind_steal_under(struct ws_pool_s *pool, ws_queue_t *queue, const ws_group_t *group, bool weak,
                         ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
    if (ws_grouped_steal_under(&queues->deque[kind], &queue->root, group, weak, task)) {
      note_taken(pool, kind, task);
      return true;
    }
  return false;
}

bool ws_kind_holds_any(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
    if (ws_deque_size(&queues->deque[kind]) > 0)
      return true;
  return false;
}

uint64_t ws_kind_waited_ns(const ws_queue_t *queue, ws_kind_t kind, uint64_t now_ns)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  return queues ? ws_deque_waited_ns(&queues->deque[kind], now_ns) : 0;
}

uint64_t ws_kind_queued(struct ws_pool_s *pool)
{
  uint64_t queued = 0;
  for (uint32_t i = ws_queue_count(pool); i-- > 0;) {
    const ws_kind_queues_t *queues = ws_kind_queues(pool->queue[i]);
    for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
      queued += ws_deque_size(&queues->deque[kind]);
  }
  return queued;
}

bool ws_kind_trim(ws_queue_t *queue, bool now)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  bool due = false;
  for (ws_kind_t kind = 0; kind < queues->count; kind++)
    due |= ws_deque_has_loose(&queues->deque[kind], now);
  return due;
}

uint64_t ws_kind_steps(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t steps = 0;
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++) {
    steps += ws_load_relaxed(&queues->deque[kind].takes); // relaxed: compared with itself
    steps += ws_load_relaxed(&queues->deque[kind].top); // relaxed: as takes
  }
  return steps;
}

uint64_t ws_kind_bytes(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t bytes = queues ? queues->bytes : 0;
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
    bytes += ws_load_relaxed(&queues->deque[kind].grown_bytes); // relaxed: a statistic
  return bytes;
}

uint64_t ws_kind_high_water(const ws_queue_t *queue)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  uint64_t most = 0;
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++) {
    const uint64_t tasks = ws_load_relaxed(&queues->deque[kind].high_water); // relaxed: a statistic
    most = tasks > most ? tasks : most;
  }
  return most;
}

void ws_kind_free(ws_queue_t *queue)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  if (!queues)
    return;
  for (ws_kind_t kind = 0; kind < queues->count; kind++)
    ws_deque_free(&queues->deque[kind]);
  ws_os_unmap(queues, queues->bytes);
}
