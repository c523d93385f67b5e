// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.c
/// ws_queue.h: the operations on all deques of a queue, and the rare ones.
#include "ws_queue.h"

#include "../os/ws_os.h"

void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity)
{
  ws_deque_init(&queue->deque, cells, capacity);
  queue->round_left = WS_ROUND_SEARCHES;
  queue->round_stops = queue->stops_left = 1; // the first stop of a fiber ends a round
}

void ws_queue_init_worker(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity, ws_cell_t *aside_cells,
                          uint64_t aside_capacity)
{
  ws_queue_init(queue, cells, capacity);
  ws_deque_init(&queue->aside, aside_cells, aside_capacity);
  queue->of_worker = true;
}

static ws_more_t *make_more(ws_tasks_t *tasks, ws_queue_t *queue)
{
  const uint32_t count = 2 * tasks->kinds - WS_DEQUES_FIRST;
  const size_t head_bytes = sizeof(ws_more_t) + count * sizeof(ws_deque_t);
  const size_t bytes = head_bytes + count * tasks->capacity * sizeof(ws_cell_t);
  ws_more_t *more = ws_os_map(bytes);
  if (!more)
    return NULL;
  more->count = count;
  more->bytes = bytes;
  ws_cell_t *cells = (ws_cell_t *)(more->deque + count);
  for (uint32_t i = 0; i < count; i++)
    ws_deque_init(&more->deque[i], cells + i * tasks->capacity, tasks->capacity);
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer) // all tasks in these deques are the waits'
    for (ws_kind_t kind = WS_KIND_NORMAL + 1; kind < tasks->kinds; kind++)
      mark->index[kind] = 1;
  ws_store_relaxed(&tasks->kinds_made, 1); // relaxed: before the fence of the push [PARK_DEKKER]
  ws_store_release(&queue->more, more); // [edge KIND_QUEUES release] their fields
  return more;
}

bool ws_queue_reserve(ws_tasks_t *tasks, ws_queue_t *queue)
{
  return ws_queue_more(queue) || make_more(tasks, queue);
}

ws_deque_t *ws_queue_room(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, bool grow)
{
  if (kind != WS_KIND_NORMAL && !ws_queue_reserve(tasks, queue))
    return NULL;
  ws_deque_t *deque = ws_queue_deque(queue, 2 * kind);
  while (!ws_deque_has_room(deque, 1)) {
    if (!grow || !ws_deque_grow(deque))
      return NULL;
    ws_count(&queue->count.growths, 1);
  }
  if (kind == WS_KIND_NORMAL)
    ws_summary_note(queue);
  return deque;
}

void ws_queue_push_kind(ws_tasks_t *tasks, ws_deque_t *deque, ws_kind_t kind, const ws_task_t *task)
{
  if (kind != WS_KIND_NORMAL)
    ws_kind_count_push(tasks, kind);
  ws_deque_push(deque, task, 1);
}

bool ws_queue_take_any(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task)
{
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++) {
    ws_deque_t *deque = ws_queue_deque(queue, i);
    if (ws_deque_size(deque) > 0 && ws_deque_take(deque, task)) {
      ws_kind_count_take(tasks, ws_kind_of_deque(i), task);
      return true;
    }
  }
  return false;
}

uint64_t ws_queue_sift(ws_tasks_t *tasks, ws_queue_t *queue, bool (*takes)(const ws_task_t *task, void *arg),
                       void *arg)
{
  uint64_t taken = 0;
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++) {
    ws_deque_t *deque = ws_queue_deque(queue, i);
    const uint64_t count = ws_deque_size(deque) > 0 ? ws_grouped_sift(deque, takes, arg) : 0;
    if (ws_kind_of_deque(i) != WS_KIND_NORMAL)
      ws_hint_sub(&tasks->queued[ws_kind_of_deque(i)], count);
    taken += count;
  }
  return taken;
}

void ws_queue_shrink(ws_tasks_t *tasks, ws_queue_t *queue)
{
  bool shrunk = false;
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++)
    shrunk |= ws_deque_shrink(ws_queue_deque(queue, i));
  if (WS_UNLIKELY(shrunk))
    ws_xchg_acq_rel(&tasks->loose, 1); // [edge TRIM_DUE acq_rel] the deque's own word before, and others'
}

void ws_queue_touch(ws_queue_t *queue)
{
  ws_deque_touch(&queue->deque);
}

static bool steal_oldest(ws_deque_t *deque, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  // mostly empty: no fence of a steal
  return ws_deque_size(deque) > 0 && ws_deque_steal_one(deque, &memo, task);
}

bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task)
{
  return steal_oldest(&queue->deque, task);
}

bool ws_queue_steal_at(ws_tasks_t *tasks, ws_queue_t *queue, uint32_t i, ws_task_t *task)
{
  if (!steal_oldest(ws_queue_deque(queue, i), task))
    return false;
  ws_kind_count_take(tasks, ws_kind_of_deque(i), task);
  return true;
}

bool ws_queue_steal_kind(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, ws_task_t *task)
{
  const uint32_t i = 2 * kind;
  if (i >= ws_queue_deques(queue))
    return false;
  return (kind != WS_KIND_NORMAL && ws_queue_steal_at(tasks, queue, i + 1, task))
         || ws_queue_steal_at(tasks, queue, i, task);
}

static bool take_own_newest(ws_tasks_t *tasks, ws_queue_t *own, ws_kind_t kind, ws_task_t *task)
{
  if (own->oldest != 0 || 2 * kind >= ws_queue_deques(own)
      || !ws_deque_take(ws_queue_deque(own, 2 * kind), task))
    return false;
  ws_kind_count_take(tasks, kind, task);
  return true;
}

bool ws_queue_take_kind(ws_tasks_t *tasks, ws_queue_t *own, ws_kind_t kind, ws_task_t *task, int32_t *victim)
{
  // ws_park looks at the queues after a fence
  if (ws_hint_load(&tasks->queued[kind]) == 0)
    return false;
  *victim = -1;
  if (take_own_newest(tasks, own, kind, task) || ws_queue_steal_kind(tasks, own, kind, task))
    return true;
  for (uint32_t i = ws_queue_count(tasks); i-- > 0;) // lanes first: they hold the bursts
    if (tasks->queue[i] != own && ws_queue_steal_kind(tasks, tasks->queue[i], kind, task)) {
      *victim = (int32_t)i;
      return true;
    }
  return false;
}

bool ws_queue_steal_under(ws_tasks_t *tasks, ws_queue_t *queue, const ws_group_t *group, bool weak,
                          ws_task_t *task)
{
  for (uint32_t i = 0; i < ws_queue_deques(queue); i += 2)
    if (ws_grouped_steal_under(ws_queue_deque(queue, i), &queue->root, group, weak, task)) {
      ws_kind_count_take(tasks, ws_kind_of_deque(i), task);
      return true;
    }
  return false;
}

bool ws_queue_holds_kinds(const ws_queue_t *queue)
{
  for (uint32_t i = WS_DEQUES_FIRST; i < ws_queue_deques(queue); i += 2)
    if (ws_deque_size(ws_queue_deque(queue, i)) > 0)
      return true;
  return false;
}

void ws_queue_trim(ws_queue_t *queue)
{
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++)
    ws_deque_trim(ws_queue_deque(queue, i));
}

uint64_t ws_queue_steps(const ws_queue_t *queue)
{
  // run alone would not do: it is counted late, for many tasks of a group at once. top moves when the oldest
  // task is taken, also by the owner; takes when the newest is; stolen counts what came from no deque here
  uint64_t steps = ws_load_relaxed(&queue->count.run); // relaxed: compared with itself
  steps += ws_load_relaxed(&queue->count.stolen); // relaxed: as run
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++) {
    steps += ws_load_relaxed(&ws_queue_deque(queue, i)->takes); // relaxed: as run
    steps += ws_load_relaxed(&ws_queue_deque(queue, i)->top); // relaxed: as run
  }
  return steps;
}

void ws_queue_free(ws_queue_t *queue)
{
  ws_more_t *more = ws_queue_more(queue);
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++)
    ws_deque_free(ws_queue_deque(queue, i));
  if (more)
    ws_os_unmap(more, more->bytes);
}

uint64_t ws_queue_grown_bytes(const ws_queue_t *queue)
{
  const ws_more_t *more = ws_queue_more(queue);
  uint64_t bytes = more ? more->bytes : 0;
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++)
    bytes += ws_stat_load(&ws_queue_deque(queue, i)->grown_bytes);
  return bytes;
}

uint64_t ws_queue_high_water(const ws_queue_t *queue)
{
  uint64_t most = 0;
  for (uint32_t i = 0; i < ws_queue_deques(queue); i++) {
    const uint64_t held = ws_stat_load(&ws_queue_deque(queue, i)->high_water);
    most = held > most ? held : most;
  }
  return most;
}
