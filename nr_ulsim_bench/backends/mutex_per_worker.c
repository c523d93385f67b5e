// SPDX-License-Identifier: BSD-3-Clause
// A mutexed queue and a condition variable for each worker: the second generation of OAI's pool, written from
// its description. A push goes round-robin to the first queue whose lock is free and signals its owner only;
// a worker tries the locks of all queues before it sleeps on its own. So a task may lie behind a long one
// while another worker sleeps.
#include <pthread.h>
#include <stdlib.h>

#include "bench_backend.h"
#include "latch.h"
#include "task_ring.h"

typedef struct {
  _Alignas(64) pthread_mutex_t lock;
  pthread_cond_t filled;
  task_ring_t ring; ///< under lock
  bool stop; ///< under lock
  pthread_t thread;
  struct steal_pool_s *pool;
} queue_t;

typedef struct steal_pool_s {
  latch_t latch;
  uint32_t next; ///< producer only: queue of the next push
  uint32_t workers;
  uint32_t started;
  queue_t queues[];
} steal_pool_t;

/// One look at each queue, the own one first; a queue whose lock is taken is passed by.
static const bench_task_t *try_all(steal_pool_t *pool, uint32_t own)
{
  for (uint32_t i = 0; i < pool->workers; i++) {
    queue_t *const queue = &pool->queues[(own + i) % pool->workers];
    if (pthread_mutex_trylock(&queue->lock) != 0)
      continue;
    const bench_task_t *const task = task_ring_pop(&queue->ring);
    pthread_mutex_unlock(&queue->lock);
    if (task)
      return task;
  }
  return NULL;
}

/// @return the next task of the own queue; NULL = the pool stops
static const bench_task_t *take_own(queue_t *queue)
{
  const bench_task_t *task;
  pthread_mutex_lock(&queue->lock);
  while (!(task = task_ring_pop(&queue->ring)) && !queue->stop)
    pthread_cond_wait(&queue->filled, &queue->lock);
  pthread_mutex_unlock(&queue->lock);
  return task;
}

static void *work(void *arg)
{
  queue_t *const queue = arg;
  steal_pool_t *const pool = queue->pool;
  const uint32_t own = (uint32_t)(queue - pool->queues);
  for (;;) {
    const bench_task_t *task = try_all(pool, own);
    if (!task && !(task = take_own(queue)))
      return NULL;
    task->func(task->arg);
    latch_count_down(&pool->latch);
  }
}

static void destroy(void *arg)
{
  steal_pool_t *const pool = arg;
  for (uint32_t i = 0; i < pool->started; i++) {
    pthread_mutex_lock(&pool->queues[i].lock);
    pool->queues[i].stop = true;
    pthread_cond_signal(&pool->queues[i].filled);
    pthread_mutex_unlock(&pool->queues[i].lock);
  }
  for (uint32_t i = 0; i < pool->started; i++)
    pthread_join(pool->queues[i].thread, NULL);
  for (uint32_t i = 0; i < pool->workers; i++)
    free(pool->queues[i].ring.tasks);
  free(pool);
}

static void *create(const bench_settings_t *settings)
{
  steal_pool_t *const pool =
      aligned_alloc(_Alignof(queue_t), sizeof *pool + settings->workers * sizeof pool->queues[0]);
  if (!pool)
    return NULL;
  *pool = (steal_pool_t){.workers = settings->workers};
  latch_init(&pool->latch);
  for (uint32_t i = 0; i < pool->workers; i++) {
    queue_t *const queue = &pool->queues[i];
    *queue = (queue_t){.pool = pool};
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->filled, NULL);
    task_ring_init(&queue->ring);
  }
  for (; pool->started < pool->workers; pool->started++) {
    queue_t *const queue = &pool->queues[pool->started];
    if (pthread_create(&queue->thread, NULL, work, queue) != 0) {
      destroy(pool);
      return NULL;
    }
  }
  return pool;
}

static void arm(void *pool, uint32_t count)
{
  latch_arm(&((steal_pool_t *)pool)->latch, count);
}

static void push(void *arg, const bench_task_t *task)
{
  steal_pool_t *const pool = arg;
  const uint32_t first = pool->next++ % pool->workers;
  queue_t *queue = &pool->queues[first];
  uint32_t tries = 0;
  while (tries < pool->workers && pthread_mutex_trylock(&queue->lock) != 0)
    queue = &pool->queues[(first + ++tries) % pool->workers];
  if (tries == pool->workers)
    pthread_mutex_lock(&queue->lock); // all were taken: queue is the first again
  task_ring_push(&queue->ring, task);
  pthread_cond_signal(&queue->filled);
  pthread_mutex_unlock(&queue->lock);
}

static void wait_all(void *pool)
{
  latch_wait(&((steal_pool_t *)pool)->latch);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "written here",
    .has_workers = true,
    .create = create,
    .arm = arm,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
