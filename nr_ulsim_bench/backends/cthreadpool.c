// SPDX-License-Identifier: BSD-3-Clause
// C-Thread-Pool, by its own wait. The library comes as a source file, which is compiled into this module.
#include <thpool.h>

#include "bench_backend.h"

static void *create(const bench_settings_t *settings)
{
  return thpool_init((int)settings->workers);
}

static void push(void *pool, const bench_task_t *task)
{
  thpool_add_work(pool, task->func, task->arg);
}

static void wait_all(void *pool)
{
  thpool_wait(pool);
}

static void destroy(void *pool)
{
  thpool_destroy(pool);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "distribution's",
    .has_workers = true,
    .create = create,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
