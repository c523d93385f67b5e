// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool.c
/// A pool of the core, and a room (tpool_room.h) that bounds its queued jobs. An add takes a place of the
/// room and pushes a task; a job that begins gives its place back. The task holds all of the job: its
/// argument, and its function in the place of the task's group, as a tag (ws_group_tag) that is no address.
/// The pool is the one that the thread which runs the task has entered.
#define _GNU_SOURCE
#include "tpool.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdlib.h>

#include "private/tpool_room.h"
#include "ws_record.h"
#include "ws_trace.h"

typedef struct {
  void (*func)(void *);
  void *arg;
} job_t;

/// A thread that runs jobs of a pool: a worker, or a thread for the time that it helps.
typedef struct place_s {
  alignas(64) tpool *pool;
  struct place_s *outer; ///< of the same thread: it helps while it runs a job of another pool
  struct place_s *next; ///< of the same pool, under places_lock
  ws_au32_t works; ///< written by its thread: 1 = it runs a job
} place_t;

struct tpool_s {
  tpool_room_t room;
  ws_pool_t *core;
  place_t *worker;
  place_t *places; ///< of all threads
  pthread_mutex_t places_lock;
  pthread_mutex_t dropping; ///< the calls of dropped follow one another
  void (*dropped)(void *dropped_arg, void (*func)(void *), void *arg);
  void *dropped_arg;
  int64_t drops; ///< jobs that were dropped; under dropping
};

static _Thread_local place_t *here; ///< the innermost of the calling thread
static _Thread_local tpool *adding; ///< that the calling thread pushes to right now: the push may run the job

_Static_assert(sizeof(uintptr_t) == 8, "64-bit machines only: a tag holds an address and three bits more");

/// No address has the highest bit, so no thread waits for such a tag.
static ws_group_t *tag_of(void (*func)(void *))
{
  return ws_group_tag((const void *)((uintptr_t)1 << 63 | (uintptr_t)func << 2));
}

static job_t job_of(const ws_task_t *task)
{
  const uintptr_t tag = (uintptr_t)task->group;
  return (job_t){.func = (void (*)(void *))((tag & ~((uintptr_t)1 << 63)) >> 2), .arg = task->arg};
}

static void enter_place(place_t *place, tpool *pool)
{
  *place = (place_t){.pool = pool, .outer = here};
  pthread_mutex_lock(&pool->places_lock);
  place->next = pool->places;
  pool->places = place;
  pthread_mutex_unlock(&pool->places_lock);
  here = place;
}

static void leave_place(place_t *place)
{
  tpool *pool = place->pool;
  here = place->outer;
  pthread_mutex_lock(&pool->places_lock);
  place_t **link = &pool->places;
  while (*link != place)
    link = &(*link)->next;
  *link = place->next;
  pthread_mutex_unlock(&pool->places_lock);
}

static bool is_inside(const tpool *pool)
{
  const place_t *place = here;
  while (place && place->pool != pool)
    place = place->outer;
  return place != NULL;
}

static void run_at(place_t *place, job_t job)
{
  const uint32_t worked = ws_own_load(&place->works);
  ws_stat_store(&place->works, 1);
  job.func(job.arg);
  ws_stat_store(&place->works, worked);
}

/// The thread runs no job of @p pool, or runs one of another pool inside that.
static void run_elsewhere(tpool *pool, job_t job)
{
  if (is_inside(pool)) {
    job.func(job.arg);
    return;
  }
  place_t place;
  enter_place(&place, pool);
  run_at(&place, job);
  leave_place(&place);
}

static inline void run(tpool *pool, job_t job)
{
  if (WS_LIKELY(here && here->pool == pool))
    run_at(here, job);
  else
    run_elsewhere(pool, job);
}

/// A task stands for its job: one that adds others does not push itself.
static uintptr_t func_of(const ws_task_t *task)
{
  return (uintptr_t)job_of(task).func;
}

/// The core's task.
static void begin_job(void *arg)
{
  (void)arg;
  const job_t job = job_of(ws_current_task());
  tpool *pool = adding ? adding : here->pool;
  adding = NULL;
  tpool_room_give(&pool->room);
  ws_trace_run_as(job.func, job.arg);
  run(pool, job);
}

static ws_task_t task_of(job_t job)
{
  return (ws_task_t){.func = begin_job, .arg = job.arg, .group = tag_of(job.func)};
}

static void drop_job(void *pool_arg, const ws_task_t *task)
{
  tpool *pool = pool_arg;
  const job_t job = job_of(task);
  tpool *before = adding;
  adding = NULL; // dropped may wait for another pool, and run jobs of that
  pthread_mutex_lock(&pool->dropping); // also publishes dropped: the core's abort does not
  pool->drops++;
  if (pool->dropped)
    pool->dropped(pool->dropped_arg, job.func, job.arg);
  pthread_mutex_unlock(&pool->dropping);
  adding = before;
  tpool_room_give(&pool->room); // the last: a shutdown waits for it
}

/// Called on each worker.
static void observe(void *pool_arg, const ws_observation_t *observation)
{
  tpool *pool = pool_arg;
  if (observation->what == WS_OBSERVED_START)
    enter_place(&pool->worker[observation->worker], pool);
}

static int create_core(tpool *pool, uint32_t threads, uint32_t buffer)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = "tpool";
  settings.workers = threads;
  settings.fifo = true;
  settings.func_of = func_of;
  settings.observer = observe;
  settings.observer_arg = pool;
  settings.skipped = drop_job;
  settings.skipped_arg = pool;
  if (buffer < settings.queue_capacity)
    settings.queue_capacity = buffer < 2 ? 2 : buffer;
  ws_settings_environment(&settings);
  const int error = ws_pool_create(&pool->core, &settings);
  if (error < 0)
    return error;
  ws_stats_t stats;
  ws_pool_stats(pool->core, &stats, NULL, 0);
  return stats.workers > 0 ? 0 : -EAGAIN; // without workers a push would run the job
}

static void free_all(tpool *pool)
{
  ws_pool_destroy(pool->core);
  tpool_room_end(&pool->room);
  pthread_mutex_destroy(&pool->dropping);
  pthread_mutex_destroy(&pool->places_lock);
  free(pool->worker);
  free(pool);
}

/// Held for a few instructions. A thread of low priority that loses its CPU there inherits a waiter's.
static void init_places_lock(pthread_mutex_t *lock)
{
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
  pthread_mutex_init(lock, &attributes);
  pthread_mutexattr_destroy(&attributes);
}

static int set_up(tpool *pool, uint32_t threads, uint32_t buffer)
{
  *pool = (tpool){.worker = aligned_alloc(alignof(place_t), threads * sizeof *pool->worker)};
  init_places_lock(&pool->places_lock);
  pthread_mutex_init(&pool->dropping, NULL);
  if (!tpool_room_init(&pool->room, buffer, threads) || !pool->worker)
    return -ENOMEM;
  return create_core(pool, threads, buffer);
}

tpool *tpool_create(int thread_count, int buffer_size)
{
  if (thread_count < 1 || thread_count > TPOOL_THREADS_MAX || buffer_size < 1
      || buffer_size > TPOOL_BUFFER_MAX) {
    errno = EINVAL;
    return NULL;
  }
  tpool *pool = aligned_alloc(alignof(tpool), sizeof *pool);
  const int error = pool ? set_up(pool, (uint32_t)thread_count, (uint32_t)buffer_size) : -ENOMEM;
  if (error == 0)
    return pool;
  if (pool)
    free_all(pool);
  errno = -error;
  return NULL;
}

/// In the child of a fork a pool of the parent has no threads. Those that had places of the room, were in the
/// list of places or held a lock are gone, so no call may wait for them, nor look at the list.
static bool is_lost(const tpool *pool)
{
  return ws_pool_is_lost(pool->core);
}

/// Push a job that has a place.
static inline int push(tpool *pool, job_t job)
{
  tpool *before = adding;
  adding = pool;
  const int error = ws_pool_push(pool->core, task_of(job));
  adding = before;
  if (WS_UNLIKELY(error < 0)) // -ECANCELED, -ESRCH
    tpool_room_give(&pool->room);
  return error;
}

/// The thread enters the pool meanwhile: if the core stops during the push, the push runs all jobs that it
/// finds, those of other pushes too.
static int add_blocked(tpool *pool, job_t job)
{
  place_t place;
  enter_place(&place, pool);
  const int error = tpool_room_wait(&pool->room) ? push(pool, job) : -ECANCELED;
  leave_place(&place);
  tpool_room_leave(&pool->room); // the last access: the pool may be gone after it
  return error;
}

typedef struct {
  tpool *pool;
  job_t job;
} in_task_t;

static void run_in_task(void *in_task_arg)
{
  const in_task_t *in_task = in_task_arg;
  run(in_task->pool, in_task->job);
}

WS_SELDOM static int add_to_full(tpool *pool, job_t job)
{
  if (is_lost(pool))
    return -ESRCH;
  if (!ws_current_task())
    return add_blocked(pool, job);
  // A job must not wait for room: jobs make it. It must not leave its place, which lies on the stack, and of
  // a fiber must not let others run on this thread meanwhile.
  const ws_task_t task = task_of(job);
  ws_must_return(run_in_task, &(in_task_t){pool, job}, &task);
  return 0;
}

int tpool_add(tpool *pool, void (*func)(void *), void *arg)
{
  if (WS_UNLIKELY(!pool || !func))
    return -EINVAL;
  if (WS_UNLIKELY(tpool_room_is_closed(&pool->room)))
    return -ECANCELED;
  if (WS_UNLIKELY(!api_places_take(&pool->room.places)))
    return add_to_full(pool, (job_t){func, arg});
  return push(pool, (job_t){func, arg});
}

int tpool_try_add(tpool *pool, void (*func)(void *), void *arg)
{
  if (!pool || !func)
    return -EINVAL;
  if (tpool_room_is_closed(&pool->room))
    return -ECANCELED;
  if (api_places_take(&pool->room.places))
    return push(pool, (job_t){func, arg});
  return is_lost(pool) ? -ESRCH : -EAGAIN;
}

int tpool_wait(tpool *pool)
{
  if (!pool)
    return -EINVAL;
  if (is_lost(pool))
    return -ESRCH;
  if (is_inside(pool))
    return -EDEADLK;
  place_t place;
  enter_place(&place, pool);
  const int error = ws_pool_wait(pool->core);
  leave_place(&place);
  return error;
}

int tpool_shutdown(tpool *pool)
{
  if (!pool)
    return -EINVAL;
  tpool_room_close(&pool->room);
  return 0;
}

int64_t tpool_shutdown_now(tpool *pool, void (*dropped)(void *dropped_arg, void (*func)(void *), void *arg),
                           void *dropped_arg)
{
  if (!pool)
    return -EINVAL;
  if (is_lost(pool))
    return -ESRCH;
  if (is_inside(pool))
    return -EDEADLK;
  if (!tpool_room_clear(&pool->room))
    return -EALREADY;
  pthread_mutex_lock(&pool->dropping);
  pool->dropped = dropped;
  pool->dropped_arg = dropped_arg;
  pthread_mutex_unlock(&pool->dropping);
  ws_pool_stop(pool->core, WS_STOP_ABORT);
  tpool_room_await_empty(&pool->room); // an add that was under way drops its job itself
  return pool->drops;
}

bool tpool_is_stopping(const tpool *pool)
{
  return pool && tpool_room_is_cleared(&pool->room);
}

int tpool_count_working_threads(tpool *pool)
{
  if (!pool)
    return -EINVAL;
  if (is_lost(pool))
    return -ESRCH;
  int count = 0;
  pthread_mutex_lock(&pool->places_lock);
  for (const place_t *place = pool->places; place; place = place->next)
    count += (int)ws_stat_load(&place->works);
  pthread_mutex_unlock(&pool->places_lock);
  return count;
}

int tpool_destroy(tpool *pool)
{
  if (!pool || is_lost(pool))
    return 0;
  WS_REQUIRE(!is_inside(pool), __func__, "called inside a job of pool, which would wait for itself");
  tpool_room_close(&pool->room);
  tpool_room_await_left(&pool->room); // they add their jobs, and are in the push until then
  place_t place;
  enter_place(&place, pool);
  ws_pool_stop(pool->core, WS_STOP_DRAIN); // -EALREADY after tpool_shutdown_now()
  leave_place(&place);
  free_all(pool);
  return 0;
}
