// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool.c
/// A pool of the core, and a room (tpool_room.h) that bounds its queued jobs. An add takes a number of the
/// room, writes the job into the slot of that number, and pushes the slot. A job that begins leaves its slot
/// and gives the number back.
#define _GNU_SOURCE
#include "tpool.h"

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "private/tpool_room.h"
#include "ws_pool.h"

typedef struct {
  void (*func)(void *);
  void *arg;
} job_t;

/// A job that is queued.
typedef struct {
  alignas(64) ws_task_t task; ///< the core's: begin_job() with this slot. The same in all jobs of the slot
  tpool *pool;
  job_t job;
} slot_t;

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
  slot_t *slot; ///< [number - 1]
  place_t *worker;
  place_t *places; ///< of all threads
  pthread_mutex_t places_lock;
  ws_au32_t stopping;
  pthread_mutex_t dropping; ///< the calls of dropped follow one another
  void (*dropped)(void *dropped_arg, void (*func)(void *), void *arg);
  void *dropped_arg;
};

static _Thread_local place_t *here; ///< the innermost of the calling thread

static void enter(place_t *place, tpool *pool)
{
  *place = (place_t){.pool = pool, .outer = here};
  pthread_mutex_lock(&pool->places_lock);
  place->next = pool->places;
  pool->places = place;
  pthread_mutex_unlock(&pool->places_lock);
  here = place;
}

/// Also a cleanup handler: a job may end its thread.
static void leave(void *place_arg)
{
  place_t *place = place_arg;
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
  const uint32_t worked = ws_load_relaxed(&place->works); // relaxed: only this thread writes it
  ws_store_relaxed(&place->works, 1); // relaxed: a count
  job.func(job.arg);
  ws_store_relaxed(&place->works, worked); // relaxed: a count
}

/// The thread runs no job of @p pool, or runs one of another pool inside that.
static void run_elsewhere(tpool *pool, job_t job)
{
  if (is_inside(pool)) {
    job.func(job.arg);
    return;
  }
  place_t place;
  enter(&place, pool);
  pthread_cleanup_push(leave, &place);
  run_at(&place, job);
  pthread_cleanup_pop(1);
}

static inline void run(tpool *pool, job_t job)
{
  if (__builtin_expect(here && here->pool == pool, 1))
    run_at(here, job);
  else
    run_elsewhere(pool, job);
}

static void give_back(slot_t *slot)
{
  tpool_room_give(&slot->pool->room, (uint32_t)(slot - slot->pool->slot) + 1);
}

/// The core's task.
static void begin_job(void *slot_arg)
{
  slot_t *slot = slot_arg;
  tpool *pool = slot->pool;
  const job_t job = slot->job;
  give_back(slot);
  run(pool, job);
}

static void drop_job(void *pool_arg, const ws_task_t *task)
{
  tpool *pool = pool_arg;
  slot_t *slot = task->arg;
  pthread_mutex_lock(&pool->dropping); // also publishes dropped: the core's abort does not
  if (pool->dropped)
    pool->dropped(pool->dropped_arg, slot->job.func, slot->job.arg);
  pthread_mutex_unlock(&pool->dropping);
  give_back(slot);
}

/// Called on each worker.
static void observe(void *pool_arg, const ws_observation_t *observation)
{
  tpool *pool = pool_arg;
  if (observation->what == WS_OBSERVED_START)
    enter(&pool->worker[observation->worker], pool);
  else if (observation->what == WS_OBSERVED_PARK) // a job that has tried to end the thread has not reset it
    ws_store_relaxed(&pool->worker[observation->worker].works, 0); // relaxed: a count
}

static int create_core(tpool *pool, uint32_t threads, uint32_t buffer)
{
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = "tpool";
  settings.workers = threads;
  settings.fifo = true;
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
  free(pool->slot);
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
  *pool = (tpool){.slot = aligned_alloc(alignof(slot_t), buffer * sizeof *pool->slot),
                  .worker = aligned_alloc(alignof(place_t), threads * sizeof *pool->worker)};
  init_places_lock(&pool->places_lock);
  pthread_mutex_init(&pool->dropping, NULL);
  if (!tpool_room_init(&pool->room, buffer) || !pool->slot || !pool->worker)
    return -ENOMEM;
  for (uint32_t i = 0; i < buffer; i++)
    pool->slot[i] = (slot_t){.task = {.func = begin_job, .arg = &pool->slot[i]}, .pool = pool};
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

static int push(tpool *pool, uint32_t number, job_t job)
{
  slot_t *slot = &pool->slot[number - 1];
  slot->job = job;
  const int error = ws_pool_push(pool->core, slot->task);
  if (__builtin_expect(error < 0, 0)) // -ECANCELED
    give_back(slot);
  return error;
}

__attribute__((noinline)) static int add_to_full(tpool *pool, job_t job)
{
  if (tpool_room_is_closed(&pool->room))
    return -ECANCELED;
  if (ws_current_task()) { // a job must not wait for room: jobs make it
    run(pool, job);
    return 0;
  }
  const uint32_t number = tpool_room_wait(&pool->room);
  const int error = number ? push(pool, number, job) : -ECANCELED;
  tpool_room_leave(&pool->room); // the last access: the pool may be gone after it
  return error;
}

int tpool_add(tpool *pool, void (*func)(void *), void *arg)
{
  if (!pool || !func)
    return -EINVAL;
  const uint32_t number = tpool_room_take(&pool->room);
  if (__builtin_expect(number == 0, 0))
    return add_to_full(pool, (job_t){func, arg});
  return push(pool, number, (job_t){func, arg});
}

int tpool_try_add(tpool *pool, void (*func)(void *), void *arg)
{
  if (!pool || !func)
    return -EINVAL;
  const uint32_t number = tpool_room_take(&pool->room);
  if (number == 0)
    return tpool_room_is_closed(&pool->room) ? -ECANCELED : -EAGAIN;
  return push(pool, number, (job_t){func, arg});
}

int tpool_wait(tpool *pool)
{
  if (!pool)
    return -EINVAL;
  if (is_inside(pool))
    return -EDEADLK;
  int error;
  place_t place;
  enter(&place, pool);
  pthread_cleanup_push(leave, &place);
  error = ws_pool_wait(pool->core);
  pthread_cleanup_pop(1);
  return error;
}

typedef void (*dropped_t)(void *dropped_arg, void (*func)(void *), void *arg);

static int64_t shut_down(tpool *pool, dropped_t dropped, void *dropped_arg)
{
  if (!tpool_room_close(&pool->room))
    return -EALREADY;
  pthread_mutex_lock(&pool->dropping);
  pool->dropped = dropped;
  pool->dropped_arg = dropped_arg;
  pthread_mutex_unlock(&pool->dropping);
  return ws_pool_stop(pool->core, WS_STOP_ABORT);
}

int64_t tpool_shutdown(tpool *pool)
{
  if (!pool)
    return -EINVAL;
  return is_inside(pool) ? -EDEADLK : shut_down(pool, NULL, NULL);
}

int64_t tpool_shutdown_now(tpool *pool, void (*dropped)(void *dropped_arg, void (*func)(void *), void *arg),
                           void *dropped_arg)
{
  if (!pool)
    return -EINVAL;
  if (is_inside(pool))
    return -EDEADLK;
  ws_store_relaxed(&pool->stopping, 1); // relaxed: a hint for running jobs
  return shut_down(pool, dropped, dropped_arg);
}

bool tpool_is_stopping(const tpool *pool)
{
  return pool && ws_load_relaxed(&pool->stopping) != 0; // relaxed: a hint
}

int tpool_count_working_threads(tpool *pool)
{
  if (!pool)
    return -EINVAL;
  int count = 0;
  pthread_mutex_lock(&pool->places_lock);
  for (const place_t *place = pool->places; place; place = place->next)
    count += (int)ws_load_relaxed(&place->works); // relaxed: a count
  pthread_mutex_unlock(&pool->places_lock);
  return count;
}

void tpool_destroy(tpool *pool)
{
  if (!pool)
    return;
  if (is_inside(pool)) {
    fprintf(stderr, "tpool_destroy: called inside a job of pool\n");
    abort();
  }
  place_t place;
  enter(&place, pool);
  pthread_cleanup_push(leave, &place);
  ws_pool_stop(pool->core, WS_STOP_DRAIN); // -EALREADY after a shutdown
  pthread_cleanup_pop(1);
  free_all(pool);
}
