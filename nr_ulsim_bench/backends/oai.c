// SPDX-License-Identifier: BSD-3-Clause
// OAI's own pool, from a folder of OAI, with floating workers. The headers that it includes besides its own
// are the stand-ins of the contract tests.
#include <stdio.h>
#include <stdlib.h>

#include "bench_backend.h"
#include "latch.h"
#include "thread-pool.h"

static latch_t latch; // a task of OAI has room for its argument only

/// In the class of the caller, as all workers here.
void threadCreate(pthread_t *thread, void *(*func)(void *), void *arg, char *name, int cpu, int priority)
{
  (void)name, (void)cpu, (void)priority;
  if (pthread_create(thread, NULL, func, arg) != 0)
    abort();
}

static void run_task(void *arg)
{
  const bench_task_t *const task = arg;
  task->func(task->arg);
  latch_count_down(&latch);
}

#ifdef OAI_FIFO
static void run_element(void *data)
{
  run_task(*(void **)data);
}

static void push(void *pool, const bench_task_t *task)
{
  notifiedFIFO_elt_t *const element = newNotifiedFIFO_elt(sizeof task, 0, NULL, run_element);
  *(const bench_task_t **)NotifiedFifoData(element) = task;
  pushTpool(pool, element);
}
#else
static void push(void *pool, const bench_task_t *task)
{
  pushTpool(pool, (task_t){.func = run_task, .args = (void *)task});
}
#endif

static void *create(const bench_settings_t *settings)
{
  static tpool_t pool;
  const int out = dup(STDOUT_FILENO);
  latch_init(&latch);
  dup2(STDERR_FILENO, STDOUT_FILENO); // it prints a line for each thread
  initFloatingCoresTpool((int)settings->workers, &pool, false, "bench");
  fflush(stdout);
  dup2(out, STDOUT_FILENO);
  close(out);
  return &pool;
}

static void arm(void *pool, uint32_t count)
{
  (void)pool;
  latch_arm(&latch, count);
}

static void wait_all(void *pool)
{
  (void)pool;
  latch_wait(&latch);
}

static void destroy(void *pool)
{
  abortTpool(pool);
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "user's checkout",
    .has_workers = true,
    .create = create,
    .arm = arm,
    .push = push,
    .wait = wait_all,
    .destroy = destroy,
};
