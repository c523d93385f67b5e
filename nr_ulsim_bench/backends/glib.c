// SPDX-License-Identifier: BSD-3-Clause
// GLib's GThreadPool, exclusive, so that its threads start at creation. It has no wait but the one that frees
// it.
#include <glib.h>

#include "bench_backend.h"
#include "latch.h"

static latch_t latch;

static void run_task(gpointer data, gpointer user_data)
{
  const bench_task_t *const task = data;
  (void)user_data;
  task->func(task->arg);
  latch_count_down(&latch);
}

static void *create(const bench_settings_t *settings)
{
  latch_init(&latch);
  return g_thread_pool_new(run_task, NULL, (gint)settings->workers, TRUE, NULL);
}

static void arm(void *pool, uint32_t count)
{
  (void)pool;
  latch_arm(&latch, count);
}

static void push(void *pool, const bench_task_t *task)
{
  g_thread_pool_push(pool, (gpointer)task, NULL);
}

static void wait_all(void *pool)
{
  (void)pool;
  latch_wait(&latch);
}

static void destroy(void *pool)
{
  g_thread_pool_free(pool, FALSE, TRUE);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = BENCH_VERSION_TEXT(GLIB_MAJOR_VERSION, GLIB_MINOR_VERSION, GLIB_MICRO_VERSION),
    .has_workers = true,
    .create = create,
    .arm = arm,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
