// SPDX-License-Identifier: BSD-3-Clause
// libuv's worker threads. Each task needs a request of its own, and its end is a callback on the producer's
// loop: both are part of the cost.
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

#include "bench_backend.h"

typedef struct request_s {
  uv_work_t work;
  const bench_task_t *task;
  struct request_s *next_free;
} uv_request_t;

typedef struct {
  uv_loop_t loop;
  uv_request_t *requests;
  uv_request_t *free_list; ///< producer only
} uv_pool_t;

static void run_task(uv_work_t *work)
{
  const bench_task_t *const task = ((uv_request_t *)work)->task;
  task->func(task->arg);
}

static void recycle(uv_work_t *work, int status)
{
  uv_request_t *const request = (uv_request_t *)work;
  uv_pool_t *const pool = work->data;
  (void)status;
  request->next_free = pool->free_list;
  pool->free_list = request;
}

static void *create(const bench_settings_t *settings)
{
  char workers[16];
  snprintf(workers, sizeof workers, "%u", settings->workers);
  setenv("UV_THREADPOOL_SIZE", workers, 1); // read when the first work is queued
  uv_pool_t *const pool = calloc(1, sizeof *pool);
  if (!pool || uv_loop_init(&pool->loop) != 0)
    return NULL;
  pool->requests = calloc(settings->tasks_max, sizeof pool->requests[0]);
  if (!pool->requests)
    return NULL;
  for (uint32_t i = 0; i < settings->tasks_max; i++) {
    pool->requests[i].work.data = pool;
    recycle(&pool->requests[i].work, 0);
  }
  return pool;
}

static void push(void *arg, const bench_task_t *task)
{
  uv_pool_t *const pool = arg;
  uv_request_t *const request = pool->free_list;
  pool->free_list = request->next_free;
  request->task = task;
  uv_queue_work(&pool->loop, &request->work, run_task, recycle);
}

static void wait_all(void *pool)
{
  uv_run(&((uv_pool_t *)pool)->loop, UV_RUN_DEFAULT);
}

static void destroy(void *arg)
{
  uv_pool_t *const pool = arg;
  uv_loop_close(&pool->loop);
  free(pool->requests);
  free(pool);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = BENCH_VERSION_TEXT(UV_VERSION_MAJOR, UV_VERSION_MINOR, UV_VERSION_PATCH),
    .has_workers = true,
    .create = create,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
