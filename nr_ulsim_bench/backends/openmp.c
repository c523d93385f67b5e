// SPDX-License-Identifier: BSD-3-Clause
// OpenMP tasks; compiled by gcc for its own runtime and by clang for LLVM's. The producer is the master of a
// parallel region that lasts as long as the measurement; the others wait at its end, where OpenMP lets them
// run tasks. Whether they sleep there is for the environment to say: OMP_WAIT_POLICY and the runtimes' own
// variables.
#include <omp.h>

#include "bench_backend.h"

/// The pool is the number of its threads: the runtime keeps the rest.
static int threads_of(const void *pool)
{
  return (int)(intptr_t)pool;
}

static void *create(const bench_settings_t *settings)
{
  omp_set_dynamic(0);
  return (void *)(intptr_t)(settings->workers + 1);
}

static void run(void *pool, void (*body)(void *arg), void *arg)
{
#pragma omp parallel num_threads(threads_of(pool))
#pragma omp master
  body(arg);
}

static void push(void *pool, const bench_task_t *task)
{
  (void)pool;
#pragma omp task firstprivate(task)
  task->func(task->arg);
}

static void wait_all(void *pool)
{
  (void)pool;
#pragma omp taskwait
}

static void fork_join(void *pool, const bench_task_t *child, const bench_task_t *own)
{
  push(pool, child);
  own->func(own->arg);
#pragma omp taskwait
}

/// A piece for each thread.
static double reduce(void *pool, uint64_t intervals, bench_sum_t sum_piece)
{
  const uint64_t threads = (uint64_t)threads_of(pool);
  double sum = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : sum)
  for (uint64_t i = 0; i < threads; i++)
    sum += sum_piece(intervals, intervals * i / threads, intervals * (i + 1) / threads);
  return sum;
}

static void destroy(void *pool)
{
  (void)pool;
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = __VERSION__,
    .waiter_helps = true,
    .has_workers = true,
    .create = create,
    .run = run,
    .push = push,
    .wait = wait_all,
    .fork_join = fork_join,
    .reduce = reduce,
    .destroy = destroy,
};
