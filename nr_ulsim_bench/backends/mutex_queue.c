// SPDX-License-Identifier: BSD-3-Clause
// One queue, one mutex, one condition variable: the first generation of OAI's pool, written from its
// description.
#include <pthread.h>
#include <stdlib.h>

#include "bench_backend.h"
#include "latch.h"
#include "task_ring.h"

typedef struct {
  pthread_mutex_t lock;
  pthread_cond_t filled;
  task_ring_t ring; ///< under lock
  bool stop; ///< under lock
  latch_t latch;
  uint32_t workers;
  pthread_t threads[];
} queue_pool_t;

/// @return the next task; NULL = the pool stops
static const bench_task_t *take(queue_pool_t *pool)
{
  const bench_task_t *task;
  pthread_mutex_lock(&pool->lock);
  while (!(task = task_ring_pop(&pool->ring)) && !pool->stop)
    pthread_cond_wait(&pool->filled, &pool->lock);
  pthread_mutex_unlock(&pool->lock);
  return task;
}

static void *work(void *arg)
{
  queue_pool_t *const pool = arg;
  for (const bench_task_t *task; (task = take(pool));) {
    task->func(task->arg);
    latch_count_down(&pool->latch);
  }
  return NULL;
}

static void destroy(void *arg)
{
  queue_pool_t *const pool = arg;
  pthread_mutex_lock(&pool->lock);
  pool->stop = true;
  pthread_cond_broadcast(&pool->filled);
  pthread_mutex_unlock(&pool->lock);
  for (uint32_t i = 0; i < pool->workers; i++)
    pthread_join(pool->threads[i], NULL);
  free(pool->ring.tasks);
  free(pool);
}

static void *create(const bench_settings_t *settings)
{
  queue_pool_t *const pool = calloc(1, sizeof *pool + settings->workers * sizeof pool->threads[0]);
  if (!pool)
    return NULL;
  pthread_mutex_init(&pool->lock, NULL);
  pthread_cond_init(&pool->filled, NULL);
  task_ring_init(&pool->ring);
  latch_init(&pool->latch);
  for (; pool->workers < settings->workers; pool->workers++)
    if (pthread_create(&pool->threads[pool->workers], NULL, work, pool) != 0) {
      destroy(pool);
      return NULL;
    }
  return pool;
}

static void arm(void *pool, uint32_t count)
{
  latch_arm(&((queue_pool_t *)pool)->latch, count);
}

static void push(void *arg, const bench_task_t *task)
{
  queue_pool_t *const pool = arg;
  pthread_mutex_lock(&pool->lock);
  task_ring_push(&pool->ring, task);
  pthread_cond_signal(&pool->filled);
  pthread_mutex_unlock(&pool->lock);
}

static void wait_all(void *pool)
{
  latch_wait(&((queue_pool_t *)pool)->latch);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "written here",
    .has_workers = true,
    .nested_push = true,
    .create = create,
    .arm = arm,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
