// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sched.c
/// A scheduler is a pool whose queues are all made at its creation, and a count of free places.
///
/// Invariant  Each queue of the pool has room for the capacity. A post first takes a place, a task gives its
///            place back after it has left its queue. So a thread's own queue has room for each task that has
///            a place [edge PLACE]. Only the queue that threads without a lane share may refuse one.
/// State      A task's word holds the task's own address while the task is not in use, and that address + 1
///            while it is. So memory that was never prepared, and a copy of a task, are neither.
/// Order      A task's end: place, then state. A thread that sees the task done finds its place free. After
///            the state is stored the task's memory may be gone.
#include "ws_sched.h"

#include <errno.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include "private/api_places.h"
#include "ws_trace.h"

#define WORKERS_MAX 1024u

struct ws_sched_s {
  api_places_t places; ///< of tasks that are posted and not done
  ws_pool_t *pool;
};

static inline ws_au64_t *state_of(const ws_sched_task_t *task)
{
  return (ws_au64_t *)(void *)&((ws_sched_task_t *)task)->state;
}

static inline uint64_t idle(const ws_sched_task_t *task)
{
  return (uintptr_t)task;
}

static inline uint64_t in_use(const ws_sched_task_t *task)
{
  return (uintptr_t)task + 1;
}

static bool has_all_workers(ws_pool_t *pool)
{
  ws_stats_t stats;
  ws_pool_stats(pool, &stats, NULL, 0);
  return stats.workers == stats.workers_requested;
}

/// @return 0 or a negative error number
static int create_pool(ws_pool_t **pool, uint32_t workers, uint32_t capacity)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = "sched";
  settings.workers = workers;
  settings.queue_capacity = capacity > 2 ? capacity : 2; // the least that a pool accepts
  settings.lanes = WS_SCHED_LANES;
  settings.full = WS_FULL_FAIL;
  settings.reserve = true;
  ws_settings_environment(&settings);
  const int error = ws_pool_create(pool, &settings);
  if (error < 0)
    return error;
  if (has_all_workers(*pool))
    return 0;
  ws_pool_destroy(*pool);
  return -EAGAIN;
}

static int create(ws_sched_t *sched, uint32_t workers, uint32_t capacity)
{
  if (workers == 0 || workers > WORKERS_MAX || capacity == 0 || capacity > WS_SCHED_CAPACITY_MAX)
    return -EINVAL;
  if (!api_places_init(&sched->places, capacity, workers))
    return -ENOMEM;
  const int error = create_pool(&sched->pool, workers, capacity);
  if (error < 0)
    api_places_free(&sched->places);
  return error;
}

ws_sched_t *sched_init(uint32_t workers, uint32_t capacity)
{
  ws_sched_t *sched = aligned_alloc(WS_SPACING, sizeof *sched);
  const int error = sched ? create(sched, workers, capacity) : -ENOMEM;
  if (error == 0)
    return sched;
  free(sched);
  errno = -error;
  return NULL;
}

int sched_task_init(ws_sched_task_t *task, void (*func)(void *args), void *args, ws_priority_t priority)
{
  if (!task || !func || (uint32_t)priority > WS_PRIORITY_LOW)
    return -EINVAL;
  if (ws_load_acquire(state_of(task)) == in_use(task)) // [edge SCHED_DONE acquire] the last run is over
    return -EBUSY;
  task->func = func;
  task->args = args;
  task->priority = priority;
  ws_store_release(state_of(task), idle(task)); // [edge SCHED_DONE release] the fields, for any thread
  return 0;
}

static inline void end_task(ws_sched_t *sched, ws_sched_task_t *task)
{
  api_places_give(&sched->places);
  ws_store_release(state_of(task), idle(task)); // [edge SCHED_DONE release] what the task wrote
}

/// The function of all tasks of the pool.
static void run_sched_task(void *task_arg)
{
  ws_sched_task_t *task = task_arg;
  ws_sched_t *sched = task->sched;
  ws_trace_run_as(task->func, task->args);
  task->func(task->args);
  end_task(sched, task);
}

int sched_post(ws_sched_t *sched, ws_sched_task_t *task)
{
  if (!sched || !task)
    return -EINVAL;
  uint64_t state = idle(task);
  // [edge SCHED_DONE acquire] the fields; the last run has read them
  if (WS_UNLIKELY(!ws_cas_acq_rel(state_of(task), &state, in_use(task))))
    return state == in_use(task) ? -EBUSY : -EINVAL;
  if (WS_UNLIKELY(!api_places_take(&sched->places))) {
    ws_store_release(state_of(task), idle(task)); // [edge SCHED_DONE release] nothing was posted
    return ws_pool_is_lost(sched->pool) ? -ESRCH : -EAGAIN;
  }
  task->sched = sched;
  const ws_task_t pushed = {.func = run_sched_task, .arg = task, .priority = task->priority};
  const int error = ws_pool_push(sched->pool, pushed);
  if (WS_UNLIKELY(error < 0))
    end_task(sched, task);
  return error;
}

int sched_execute(ws_sched_t *sched)
{
  return sched ? ws_pool_wait(sched->pool) : -EINVAL;
}

int sched_is_complete(const ws_sched_task_t *task)
{
  if (!task)
    return -EINVAL;
  const uint64_t state = ws_load_acquire(state_of(task)); // [edge SCHED_DONE acquire] what the task wrote
  if (state == idle(task))
    return 1;
  return state == in_use(task) ? 0 : -EINVAL;
}

int sched_fini(ws_sched_t *sched)
{
  if (!sched)
    return -EINVAL;
  if (ws_pool_stop(sched->pool, WS_STOP_DRAIN) == -EDEADLK)
    return -EDEADLK;
  ws_pool_destroy(sched->pool);
  api_places_free(&sched->places);
  free(sched);
  return 0;
}
