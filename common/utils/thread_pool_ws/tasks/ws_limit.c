// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_limit.c
/// ws_limit.h.
#include "ws_limit.h"

#include "../os/ws_os.h"
#include "ws_group_word.h"

/// A line's ring is not made larger than this many tasks.
#define CAPACITY_MAX (1u << 24)

static ws_limit_cell_t *cell_at(const ws_limit_t *limit, uint32_t index)
{
  return &limit->cell[(limit->first + index) & (limit->capacity - 1)];
}

/// The caller holds the lock: publish what it has changed.
static void publish(ws_limit_t *limit)
{
  const uint32_t places = limit->running < limit->max ? limit->max - limit->running : 0;
  ws_hint_store(&limit->since_ns, limit->count > 0 ? cell_at(limit, 0)->pushed_ns : 0);
  ws_hint_store(&limit->waiting, limit->count);
  // relaxed: the lock orders it for those that take, the caller's fence for those that sleep [PARK_DEKKER]
  ws_store_relaxed(&limit->open, limit->count < places ? limit->count : places);
}

static bool grow_ring(ws_limit_t *limit)
{
  const uint32_t capacity = 2 * limit->capacity;
  ws_limit_cell_t *cells = capacity <= CAPACITY_MAX ? ws_os_map(capacity * sizeof(*cells)) : NULL;
  if (!cells)
    return false;
  for (uint32_t i = 0; i < limit->count; i++)
    cells[i] = *cell_at(limit, i);
  ws_os_unmap(limit->cell, limit->capacity * sizeof(*cells));
  limit->cell = cells;
  limit->capacity = capacity;
  limit->first = 0;
  return true;
}

/// The caller holds the lock: a task has come (@p change 1) or gone (-1).
static void count(ws_limit_t *limit, const ws_task_t *task, int32_t change)
{
  limit->count += (uint32_t)change;
  if (task->group)
    ws_hint_store(&limit->grouped, ws_hint_load(&limit->grouped) + (uint32_t)change);
}

/// Take the task at @p index of the line. The older ones move up.
static ws_task_t take_at(ws_limit_t *limit, uint32_t index)
{
  const ws_task_t task = cell_at(limit, index)->task;
  for (; index > 0; index--)
    *cell_at(limit, index) = *cell_at(limit, index - 1);
  limit->first = (limit->first + 1) & (limit->capacity - 1);
  count(limit, &task, -1);
  return task;
}

/// @return whether a thread may sleep that waits for the task's group. The group lives: its task is in the
///         line, and no thread takes it while the caller holds the lock
static bool is_awaited(const ws_task_t *task)
{
  if (!ws_group_counts(task->group))
    return false;
  ws_fence_seq_cst(); // [edge LIMIT_DEKKER fence] grouped before the group's mark
  return ws_group_has_sleepers(task->group);
}

ws_limit_put_t ws_limit_put(ws_limit_t *limit, const ws_task_t *task, uint64_t now_ns, bool grow)
{
  pthread_mutex_lock(&limit->lock);
  ws_limit_put_t result = WS_LIMIT_FULL;
  if (limit->count < limit->capacity || (grow && grow_ring(limit))) {
    *cell_at(limit, limit->count) = (ws_limit_cell_t){.task = *task, .pushed_ns = now_ns};
    count(limit, task, 1);
    result = is_awaited(task) ? WS_LIMIT_AWAITED : WS_LIMIT_PUT;
    if (result == WS_LIMIT_AWAITED)
      count(limit, task, -1);
    publish(limit);
  }
  pthread_mutex_unlock(&limit->lock);
  return result;
}

bool ws_limit_take(ws_tasks_t *tasks, uint32_t index, ws_task_t *task)
{
  ws_limit_t *limit = &tasks->limit[index];
  if (ws_hint_load(&limit->open) == 0) // a worker that finds nothing looks again before it sleeps
    return false;
  pthread_mutex_lock(&limit->lock);
  const bool may = limit->count > 0 && limit->running < limit->max;
  if (may) {
    *task = take_at(limit, 0);
    task->priority = (ws_priority_t)((uint32_t)task->priority | (index + 1) << WS_TICKET_SHIFT);
    limit->running++;
    publish(limit);
  }
  pthread_mutex_unlock(&limit->lock);
  return may;
}

bool ws_limits_take(ws_tasks_t *tasks, ws_task_t *task)
{
  const uint32_t begin = ws_hint_load(&tasks->limit_turn);
  for (uint32_t i = 0; i < tasks->limits; i++) {
    const uint32_t index = (begin + i) % tasks->limits;
    if (!ws_limit_take(tasks, index, task))
      continue;
    ws_hint_store(&tasks->limit_turn, index + 1);
    return true;
  }
  return false;
}

/// Take one task of the line for which @p takes returns true.
static bool sift(ws_limit_t *limit, bool (*takes)(const ws_task_t *task, void *arg), void *arg,
                 ws_task_t *task)
{
  bool found = false;
  pthread_mutex_lock(&limit->lock);
  for (uint32_t at = 0; at < limit->count && !found; at++)
    if ((found = takes(&cell_at(limit, at)->task, arg)))
      *task = take_at(limit, at);
  publish(limit);
  pthread_mutex_unlock(&limit->lock);
  return found;
}

bool ws_limits_sift(ws_tasks_t *tasks, bool (*takes)(const ws_task_t *task, void *arg), void *arg,
                    ws_task_t *task)
{
  for (uint32_t i = 0; i < tasks->limits; i++)
    if (ws_hint_load(&tasks->limit[i].waiting) > 0 // what the caller pushed itself it sees
        && sift(&tasks->limit[i], takes, arg, task))
      return true;
  return false;
}

typedef struct {
  const ws_group_t *group;
  bool weak;
} wanted_t;

static bool is_wanted(const ws_task_t *task, void *wanted_arg)
{
  const wanted_t *wanted = wanted_arg;
  return ws_group_is(task->group, wanted->group, wanted->weak);
}

bool ws_limits_take_of(ws_tasks_t *tasks, const ws_group_t *group, bool weak, ws_task_t *task)
{
  wanted_t wanted = {group, weak};
  for (uint32_t i = 0; i < tasks->limits; i++)
    // what the caller pushed itself it sees, and before it sleeps all [edge LIMIT_DEKKER]
    if (ws_hint_load(&tasks->limit[i].grouped) > 0 && sift(&tasks->limit[i], is_wanted, &wanted, task))
      return true;
  return false;
}

bool ws_limit_end(ws_limit_t *limit)
{
  pthread_mutex_lock(&limit->lock);
  limit->running--;
  publish(limit);
  const bool open = limit->count > 0 && limit->running < limit->max;
  pthread_mutex_unlock(&limit->lock);
  return open;
}

static void make_lock(pthread_mutex_t *lock)
{
  pthread_mutexattr_t attr;
  pthread_mutexattr_init(&attr);
  pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT); // a normal thread that holds it is not held up
  if (pthread_mutex_init(lock, &attr) != 0)
    pthread_mutex_init(lock, NULL);
  pthread_mutexattr_destroy(&attr);
}

/// @param made  lines that are set up, of @p count
static void free_lines(ws_tasks_t *tasks, uint32_t made, uint32_t count)
{
  for (uint32_t i = 0; i < made; i++) {
    pthread_mutex_destroy(&tasks->limit[i].lock);
    ws_os_unmap(tasks->limit[i].cell, tasks->limit[i].capacity * sizeof(ws_limit_cell_t));
  }
  if (tasks->limit)
    ws_os_unmap(tasks->limit, count * sizeof(ws_limit_t));
  tasks->limit = NULL;
  tasks->limits = 0;
}

bool ws_limits_make(ws_tasks_t *tasks, uint32_t count, uint32_t capacity)
{
  tasks->limit = ws_os_map(count * sizeof(ws_limit_t));
  for (uint32_t i = 0; tasks->limit && i < count; i++) {
    ws_limit_t *limit = &tasks->limit[i];
    limit->capacity = capacity;
    limit->cell = ws_os_map(capacity * sizeof(*limit->cell));
    if (limit->cell)
      make_lock(&limit->lock);
    else
      free_lines(tasks, i, count);
  }
  tasks->limits = tasks->limit ? count : 0;
  return tasks->limit != NULL;
}

void ws_limits_free(ws_tasks_t *tasks)
{
  free_lines(tasks, tasks->limits, tasks->limits);
}
