// SPDX-License-Identifier: BSD-3-Clause
/// @file thread-pool.c
/// thread-pool.h
#include "thread-pool.h"

static void *loop(void *arg)
{
  tpool_t *pool = arg;
  while (true) {
    mutexlock(pool->lock);
    while (pool->head == pool->tail && !pool->stop)
      condwait(pool->changed, pool->lock);
    const bool some = pool->head != pool->tail;
    const task_t task = pool->queue[pool->head % MODEL_QUEUE_SIZE];
    pool->head += some;
    mutexunlock(pool->lock);
    if (!some)
      return NULL;
    task.func(task.args);
  }
}

void pushTpool(tpool_t *pool, task_t task)
{
  if (pool->len_thr == 0) {
    task.func(task.args);
    return;
  }
  mutexlock(pool->lock);
  AssertFatal(pool->tail - pool->head < MODEL_QUEUE_SIZE, "the model's queue is full");
  pool->queue[pool->tail++ % MODEL_QUEUE_SIZE] = task;
  condsignal(pool->changed);
  mutexunlock(pool->lock);
}

void abortTpool(tpool_t *pool)
{
  mutexlock(pool->lock);
  pool->stop = true;
  condbroadcast(pool->changed);
  mutexunlock(pool->lock);
  for (int i = 0; i < pool->len_thr; i++)
    pthread_join(pool->threads[i], NULL);
  free(pool->threads);
}

void initNamedTpool(char *params, tpool_t *pool, bool performanceMeas, char *name)
{
  (void)performanceMeas;
  memset(pool, 0, sizeof(*pool));
  mutexinit(pool->lock);
  condinit(pool->changed);
  int count = 1;
  for (const char *c = params; *c; c++)
    count += *c == ',';
  pool->len_thr = params[0] == 'n' ? 0 : count;
  pool->threads = calloc((size_t)count, sizeof(*pool->threads));
  for (int i = 0; i < pool->len_thr; i++)
    threadCreate(&pool->threads[i], loop, pool, name ? name : (char *)"Tpool", -1, OAI_PRIORITY_RT_MAX);
}

void initFloatingCoresTpool(int nbThreads, tpool_t *pool, bool performanceMeas, char *name)
{
  char params[1024] = "n";
  for (int i = 0, at = 0; i < nbThreads; i++)
    at += snprintf(params + at, sizeof(params) - (size_t)at, i ? ",-1" : "-1");
  initNamedTpool(params, pool, performanceMeas, name);
}
