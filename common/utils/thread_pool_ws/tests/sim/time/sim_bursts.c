// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_bursts.c
/// sim_bursts.h.
#include "sim_bursts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim_libc.h"
#include "sim_memory.h"
#include "sim_work.h"

static struct {
  const sim_bursts_t *wanted;
  void *pool;
  bool is_over;
  bench_task_t task[SIM_PHASES_MAX];
  sim_ps_t work_ps[SIM_PHASES_MAX]; ///< of a task of that phase
  double *makespan_us, *lag_us;
  uint32_t done; ///< slots, of all producers
  uint32_t started; ///< tasks of this phase
  sim_ps_t pushed_ps, running_ps; ///< first push of the phase; start of the task that fills the machine
  sim_ps_t busy_before_ps;
  uint64_t wakes_before;
  sim_ps_t begun_ps, ended_ps;
} run;

static uint32_t at_once(uint32_t count)
{
  const uint32_t threads = run.wanted->workers + run.wanted->pool->waiter_helps;
  const uint32_t cpus = threads < sim_machine.cpus ? threads : sim_machine.cpus;
  return count < cpus ? count : cpus;
}

static void work(void *arg)
{
  const uint32_t phase = (uint32_t)(uintptr_t)arg;
  if (++run.started == at_once(run.wanted->count[phase]))
    run.running_ps = sim_self->now_ps;
  if (run.work_ps[phase] > 0)
    sim_work(run.work_ps[phase]);
}

static void fork_once(void *arg)
{
  const uintptr_t depth = (uintptr_t)arg;
  if (depth < 2) {
    sim_work(run.work_ps[0]);
    return;
  }
  const bench_task_t child = {fork_once, (void *)(depth - 1)}, own = {fork_once, (void *)(depth - 2)};
  run.wanted->pool->fork_join(run.pool, &child, &own);
}

static void push_phase(uint32_t phase)
{
  const bench_backend_t *pool = run.wanted->pool;
  const uint32_t count = run.wanted->nested > 0 ? 1 : run.wanted->count[phase];
  if (pool->arm)
    pool->arm(run.pool, count);
  for (uint32_t i = 0; i < count; i++)
    pool->push(run.pool, &run.task[phase]);
  pool->wait(run.pool);
}

static sim_ps_t busy_ps(void)
{
  sim_ps_t sum_ps = 0;
  for (uint32_t i = 0; i < sim_threads; i++)
    sum_ps += sim_thread[i]->busy_ps;
  return sum_ps;
}

static void begin_measuring(void)
{
  run.busy_before_ps = busy_ps();
  run.wakes_before = sim_wakes;
  run.begun_ps = sim_self->now_ps;
}

static void slot(uint32_t number)
{
  const sim_bursts_t *wanted = run.wanted;
  if (number == wanted->warm)
    begin_measuring();
  const sim_ps_t begin_ps = sim_self->now_ps;
  for (uint32_t phase = 0; phase < wanted->phases; phase++) {
    run.started = 0;
    run.pushed_ps = sim_self->now_ps;
    run.running_ps = run.pushed_ps;
    push_phase(phase);
  }
  if (number < wanted->warm)
    return;
  run.makespan_us[number - wanted->warm] = (double)(sim_self->now_ps - begin_ps) / 1e6;
  run.lag_us[number - wanted->warm] = (double)(run.running_ps - run.pushed_ps) / 1e6;
}

static void slots(void *unused)
{
  (void)unused;
  const sim_bursts_t *wanted = run.wanted;
  const sim_ps_t period_ps = (sim_ps_t)(wanted->period_us * 1e6);
  sim_ps_t next_ps = sim_self->now_ps + SIM_PS_PER_MS;
  for (uint32_t i = 0; i < wanted->warm + wanted->bursts; i++) {
    if (period_ps > 0)
      sim_sleep_until(next_ps);
    next_ps += period_ps;
    slot(i);
  }
  run.ended_ps = sim_self->now_ps;
}

static void *producer(void *unused)
{
  const sim_bursts_t *wanted = run.wanted;
  uint32_t tasks_max = 1;
  for (uint32_t i = 0; i < wanted->phases; i++)
    tasks_max = wanted->count[i] > tasks_max ? wanted->count[i] : tasks_max;
  const bench_settings_t settings = {.workers = wanted->workers,
                                     .hot = wanted->hot,
                                     .rt_priority = wanted->classes != SIM_OTHER ? 50 : 0,
                                     .tasks_max = tasks_max};
  run.pool = wanted->pool->create(&settings);
  if (!run.pool)
    sim_finding("the pool could not be made");
  if (wanted->pool->run)
    wanted->pool->run(run.pool, slots, unused);
  else
    slots(unused);
  run.is_over = true;
  sim_sleep(0);
  return NULL;
}

static bool is_over(void)
{
  return run.is_over;
}

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double quantile(double *sorted, uint32_t count, double share)
{
  const double at = share * (count - 1);
  const uint32_t below = (uint32_t)at;
  const uint32_t above = below + 1 < count ? below + 1 : below;
  return sorted[below] + (sorted[above] - sorted[below]) * (at - below);
}

static uint64_t leaves(uint32_t depth)
{
  return depth < 2 ? 1 : leaves(depth - 1) + leaves(depth - 2);
}

static void evaluate(sim_bursts_result_t *result)
{
  const sim_bursts_t *wanted = run.wanted;
  const double cpus = sim_machine.cpus;
  double work_us = 0, tasks = 0;
  *result = (sim_bursts_result_t){0};
  for (uint32_t i = 0; i < wanted->phases; i++) {
    const double us = wanted->us[i];
    const double count = wanted->nested > 0 ? (double)leaves(wanted->nested) : wanted->count[i];
    work_us += count * us;
    tasks += count;
    result->bound_us += fmax(us, count * us / cpus);
    result->whole_us += ceil(count / at_once(UINT32_MAX)) * us;
  }
  qsort(run.makespan_us, wanted->bursts, sizeof(double), compare);
  qsort(run.lag_us, wanted->bursts, sizeof(double), compare);
  result->p50_us = quantile(run.makespan_us, wanted->bursts, 0.5);
  result->p99_us = quantile(run.makespan_us, wanted->bursts, 0.99);
  result->lag_us = quantile(run.lag_us, wanted->bursts, 0.5);
  const double busy_us = (double)(busy_ps() - run.busy_before_ps) / 1e6;
  result->cpu_per_work = work_us > 0 ? busy_us / (work_us * wanted->bursts) : 0;
  result->wakes = (double)(sim_wakes - run.wakes_before) / wanted->bursts;
  result->tasks_per_s = tasks * wanted->bursts / ((double)(run.ended_ps - run.begun_ps) / 1e12);
}

bool sim_bursts_run(const sim_bursts_t *wanted, sim_bursts_result_t *result)
{
  sim_libc_reset();
  sim_memory_reset();
  sim_threads_reset();
  run.wanted = wanted;
  run.makespan_us = calloc(wanted->bursts, sizeof(double));
  run.lag_us = calloc(wanted->bursts, sizeof(double));
  if (!run.makespan_us || !run.lag_us)
    return false;
  for (uint32_t i = 0; i < wanted->phases; i++) {
    run.task[i] = (bench_task_t){work, (void *)(uintptr_t)i};
    run.work_ps[i] = (sim_ps_t)(wanted->us[i] * 1e6);
  }
  if (wanted->nested > 0)
    run.task[0] = (bench_task_t){fork_once, (void *)(uintptr_t)wanted->nested};
  sim_thread_t like = {.class = wanted->classes == SIM_RR_ALL ? SIM_REALTIME : SIM_FAIR, .priority = 60,
                       .slack_ns = wanted->classes == SIM_RR_ALL ? 0 : 50000};
  for (uint32_t i = 0; i < SIM_CPU_WORDS; i++)
    like.allowed[i] = UINT64_MAX;
  sim_thread_new(&like, producer, NULL, SIM_PS_PER_S);
  if (!sim_run(is_over, 61 * SIM_PS_PER_S))
    return false;
  evaluate(result);
  free(run.makespan_us);
  free(run.lag_us);
  return true;
}
