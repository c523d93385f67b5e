// SPDX-License-Identifier: BSD-3-Clause
/// @file mutex_pool.h
/// Queues with a mutex and a condition variable each, and workers that belong to one: included by a module
/// that defines MUTEX_QUEUES(workers), their number, and BENCH_NESTED_PUSH.
#ifndef BENCH_MUTEX_POOL_H
#define BENCH_MUTEX_POOL_H

#include <pthread.h>
#include <stdlib.h>

#include "bench_backend.h"
#include "latch.h"

typedef struct {
  _Alignas(64) pthread_mutex_t lock;
  pthread_cond_t filled;
  // Under lock: first in, first out, with room for all tasks between two waits
  const bench_task_t **ring;
  uint32_t capacity, first, count;
  bool stop;
} queue_t;

typedef struct mutex_pool_s mutex_pool_t;

typedef struct {
  mutex_pool_t *pool;
  pthread_t thread;
  uint32_t queue; ///< its own
} worker_t;

struct mutex_pool_s {
  latch_t latch;
  uint32_t next; ///< producer only, where there are several queues: queue of the next push
  uint32_t queues;
  uint32_t workers; ///< that have started
  queue_t *queue;
  worker_t *worker;
};

/// @return the oldest task, NULL when there is none
static const bench_task_t *pop(queue_t *queue)
{
  if (queue->count == 0)
    return NULL;
  const bench_task_t *const task = queue->ring[queue->first];
  queue->first = queue->first + 1 == queue->capacity ? 0 : queue->first + 1;
  queue->count--;
  return task;
}

/// One look at each queue, the own one first; a queue whose lock is taken is passed by.
static const bench_task_t *try_all(mutex_pool_t *pool, uint32_t own)
{
  for (uint32_t i = 0; i < pool->queues; i++) {
    queue_t *const queue = &pool->queue[(own + i) % pool->queues];
    if (pthread_mutex_trylock(&queue->lock) != 0)
      continue;
    const bench_task_t *const task = pop(queue);
    pthread_mutex_unlock(&queue->lock);
    if (task)
      return task;
  }
  return NULL;
}

/// @return the next task of the queue; NULL = the pool stops
static const bench_task_t *take(queue_t *queue)
{
  const bench_task_t *task;
  pthread_mutex_lock(&queue->lock);
  while (!(task = pop(queue)) && !queue->stop)
    pthread_cond_wait(&queue->filled, &queue->lock);
  pthread_mutex_unlock(&queue->lock);
  return task;
}

static void *work(void *arg)
{
  const worker_t *const worker = arg;
  mutex_pool_t *const pool = worker->pool;
  for (;;) {
    const bench_task_t *task = pool->queues > 1 ? try_all(pool, worker->queue) : NULL;
    if (!task && !(task = take(&pool->queue[worker->queue])))
      return NULL;
    task->func(task->arg);
    latch_count_down(&pool->latch);
  }
}

static void destroy(void *arg)
{
  mutex_pool_t *const pool = arg;
  for (uint32_t i = 0; i < pool->queues; i++) {
    pthread_mutex_lock(&pool->queue[i].lock);
    pool->queue[i].stop = true;
    pthread_cond_broadcast(&pool->queue[i].filled);
    pthread_mutex_unlock(&pool->queue[i].lock);
  }
  for (uint32_t i = 0; i < pool->workers; i++)
    pthread_join(pool->worker[i].thread, NULL);
}

/// In a process that takes one measurement: memory is not freed.
static void *create(const bench_settings_t *settings)
{
  mutex_pool_t *const pool = calloc(1, sizeof *pool);
  pool->queues = MUTEX_QUEUES(settings->workers);
  pool->queue = aligned_alloc(_Alignof(queue_t), pool->queues * sizeof *pool->queue);
  pool->worker = calloc(settings->workers, sizeof *pool->worker);
  latch_init(&pool->latch);
  for (uint32_t i = 0; i < pool->queues; i++) {
    queue_t *const queue = &pool->queue[i];
    *queue = (queue_t){.capacity = settings->tasks_max};
    queue->ring = calloc(queue->capacity, sizeof queue->ring[0]);
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
  }
  for (; pool->workers < settings->workers; pool->workers++) {
    worker_t *const worker = &pool->worker[pool->workers];
    *worker = (worker_t){.pool = pool, .queue = pool->workers % pool->queues};
    if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
      destroy(pool);
      return NULL;
    }
  }
  return pool;
}

static void arm(void *pool, uint32_t count)
{
  latch_arm(&((mutex_pool_t *)pool)->latch, count);
}

/// @return the queue of a push, locked
static queue_t *lock_queue(mutex_pool_t *pool)
{
  const bool several = pool->queues > 1;
  const uint32_t first = several ? pool->next++ : 0;
  for (uint32_t i = 0; several && i < pool->queues; i++) {
    queue_t *const queue = &pool->queue[(first + i) % pool->queues];
    if (pthread_mutex_trylock(&queue->lock) == 0)
      return queue;
  }
  queue_t *const queue = &pool->queue[first % pool->queues]; // all were taken
  pthread_mutex_lock(&queue->lock);
  return queue;
}

static void push(void *pool, const bench_task_t *task)
{
  queue_t *const queue = lock_queue(pool);
  if (queue->count == queue->capacity)
    abort(); // more tasks between two waits than announced
  const uint32_t place = queue->first + queue->count++;
  queue->ring[place < queue->capacity ? place : place - queue->capacity] = task;
  pthread_cond_signal(&queue->filled);
  pthread_mutex_unlock(&queue->lock);
}

static void wait_all(void *pool)
{
  latch_wait(&((mutex_pool_t *)pool)->latch);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "written here",
    .has_workers = true,
    .nested_push = BENCH_NESTED_PUSH,
    .create = create,
    .arm = arm,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};

#endif
