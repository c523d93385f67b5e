// SPDX-License-Identifier: BSD-3-Clause
// This project's pool by its interface task_manager.
#include <stdlib.h>

#include "bench_backend.h"
#include "task_manager.h"

static void *create(const bench_settings_t *settings)
{
  task_manager_t *const man = calloc(1, sizeof *man);
  if (man)
    init_task_manager(man, settings->workers);
  return man;
}

static void push(void *pool, const bench_task_t *task)
{
  async_task_manager(pool, (task_t){.args = task->arg, .func = task->func});
}

static void wait_all(void *pool)
{
  wait_all_task_manager(pool);
}

static void destroy(void *pool)
{
  free_task_manager(pool, NULL);
  free(pool);
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
