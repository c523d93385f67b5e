// SPDX-License-Identifier: BSD-3-Clause
// This project's pool by its interface tpool. The buffer holds all tasks between two waits: a producer that
// blocks would measure the bound.
#include "tpool.h"
#include "bench_backend.h"

static void *create(const bench_settings_t *settings)
{
  const uint32_t wanted = settings->tasks_max < TPOOL_BUFFER_MAX ? settings->tasks_max : TPOOL_BUFFER_MAX;
  return tpool_create((int)settings->workers, (int)wanted);
}

static void push(void *pool, const bench_task_t *task)
{
  tpool_add(pool, task->func, task->arg);
}

static void wait_all(void *pool)
{
  tpool_wait(pool);
}

static void destroy(void *pool)
{
  tpool_destroy(pool);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "this checkout",
    .waiter_helps = true,
    .has_workers = true,
    .create = create,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
