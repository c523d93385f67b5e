// SPDX-License-Identifier: BSD-3-Clause
// This project's pool by its interface ws_sched. A post needs a task of the caller's, which is prepared
// before each post: a program would prepare some of its tasks once.
#include <stdlib.h>
#include <string.h>

#include "bench_backend.h"
#include "ws_sched.h"

typedef struct {
  ws_sched_t *sched;
  ws_sched_task_t *task;
  uint32_t next, count;
} bench_sched_t;

static void destroy(void *pool)
{
  bench_sched_t *const bench = pool;
  sched_fini(bench->sched);
  free(bench->task);
  free(bench);
}

static void *create(const bench_settings_t *settings)
{
  const uint32_t wanted = settings->tasks_max;
  const uint32_t most = wanted < WS_SCHED_CAPACITY_MAX ? wanted : WS_SCHED_CAPACITY_MAX;
  bench_sched_t *const bench = calloc(1, sizeof *bench);
  if (!bench)
    return NULL;
  bench->count = most;
  bench->task = aligned_alloc(64, most * sizeof bench->task[0]);
  if (bench->task)
    memset(bench->task, 0, most * sizeof bench->task[0]); // the program's own memory, used before
  bench->sched = bench->task ? sched_init(settings->workers, most) : NULL;
  if (bench->sched)
    return bench;
  free(bench->task);
  free(bench);
  return NULL;
}

static void push(void *pool, const bench_task_t *task)
{
  bench_sched_t *const bench = pool;
  ws_sched_task_t *const own = &bench->task[bench->next];
  bench->next = bench->next + 1 == bench->count ? 0 : bench->next + 1;
  if (sched_task_init(own, task->func, task->arg, WS_PRIORITY_NORMAL) < 0
      || sched_post(bench->sched, own) < 0)
    abort(); // more tasks between two waits than announced
}

static void wait_all(void *pool)
{
  sched_execute(((bench_sched_t *)pool)->sched);
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
