// SPDX-License-Identifier: BSD-3-Clause
// This project's pool, with its default settings and what TPOOL_WS_... says; hot = WS_SPIN_HOT.
#include <stdlib.h>

#include "bench_backend.h"
#include "ws_pool.h"
#include "ws_reduce.h"
#include "ws_trace_slot.h"

typedef struct {
  ws_pool_t *pool;
  ws_settings_t settings;
  ws_group_t group;
} bench_ws_t;

static void *create(const bench_settings_t *settings)
{
  bench_ws_t *const bench = calloc(1, sizeof *bench);
  if (!bench)
    return NULL;
  ws_settings_t *const wanted = &bench->settings;
  ws_settings_default(wanted);
  ws_settings_environment(wanted);
  wanted->workers = settings->workers;
  wanted->pin_first = settings->pin_first;
  wanted->pin_step = settings->pin_step;
  if (settings->hot)
    wanted->spin = WS_SPIN_HOT;
  if (settings->rt_priority > 0) {
    wanted->sched_class = settings->fifo ? WS_CLASS_FIFO : WS_CLASS_RR;
    wanted->sched_priority = settings->rt_priority;
  }
  if (ws_pool_create(&bench->pool, wanted) == 0)
    return bench;
  free(bench);
  return NULL;
}

static int32_t pinned_cpu(void *pool, uint32_t index)
{
  return ws_settings_cpu(&((bench_ws_t *)pool)->settings, index);
}

static void arm(void *pool, uint32_t count)
{
  ws_group_init(&((bench_ws_t *)pool)->group, count);
}

static void push(void *pool, const bench_task_t *task)
{
  bench_ws_t *const bench = pool;
  ws_pool_push(bench->pool, (ws_task_t){.func = task->func, .arg = task->arg, .group = &bench->group});
}

static void wait_all(void *pool)
{
  bench_ws_t *const bench = pool;
  ws_group_wait(&bench->group, bench->pool);
}

static void fork_join(void *pool, const bench_task_t *child, const bench_task_t *own)
{
  bench_ws_t *const bench = pool;
  ws_group_t group;
  ws_group_init(&group, 1);
  ws_pool_push(bench->pool, (ws_task_t){.func = child->func, .arg = child->arg, .group = &group});
  own->func(own->arg);
  ws_group_wait(&group, bench->pool);
}

typedef struct {
  uint64_t intervals;
  bench_sum_t sum;
} integral_t;

static void sum_piece(void *integral_arg, uint64_t first, uint64_t end, void *sum)
{
  const integral_t *const integral = integral_arg;
  *(double *)sum += integral->sum(integral->intervals, first, end);
}

static void add_sum(void *integral, void *left, const void *right)
{
  (void)integral;
  *(double *)left += *(const double *)right;
}

static double reduce(void *pool, uint64_t intervals, bench_sum_t sum_of)
{
  integral_t integral = {intervals, sum_of};
  const ws_reduce_t how = {.piece = sum_piece, .combine = add_sum, .arg = &integral, .bytes = sizeof(double)};
  double sum = 0;
  ws_reduce(((bench_ws_t *)pool)->pool, &how, 0, intervals, &sum);
  return sum;
}

static uint64_t stopped_callers(void *pool)
{
  bench_ws_t *const bench = pool;
  ws_stats_t total;
  ws_pool_stats(bench->pool, &total, NULL, 0);
  ws_worker_stats_t *const workers = calloc(total.workers, sizeof *workers);
  const uint32_t count = workers ? ws_pool_stats(bench->pool, &total, workers, total.workers) : 0;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; i++)
    sum += workers[i].stopped_callers;
  free(workers);
  return sum;
}

static void destroy(void *pool)
{
  bench_ws_t *const bench = pool;
  ws_pool_destroy(bench->pool);
  free(bench);
}

static ws_trace_phase_t trace_phase(bench_phase_t phase)
{
  return phase == BENCH_SYMBOL_PROCESSING ? WS_TRACE_SYMBOL_PROCESSING : WS_TRACE_ULSCH_DECODING;
}

static void phase_begin(bench_phase_t phase, uint32_t frame, uint32_t slot)
{
  ws_trace_phase_begin(trace_phase(phase), frame, slot, 0);
}

static void phase_end(bench_phase_t phase)
{
  ws_trace_phase_end(trace_phase(phase));
}

BENCH_EXPORT const bench_backend_t bench_backend = {
    .version = "this checkout",
    .waiter_helps = true,
    .has_workers = true,
    .sets_class = true,
    .nested_push = true,
    .create = create,
    .pinned_cpu = pinned_cpu,
    .arm = arm,
    .push = push,
    .wait = wait_all,
    .fork_join = fork_join,
    .reduce = reduce,
    .phase_begin = phase_begin,
    .phase_end = phase_end,
    .stopped_callers = stopped_callers,
    .destroy = destroy,
};
