// SPDX-License-Identifier: BSD-3-Clause
// What others have of the CPUs: nothing is taken from them by a pool that rests (idle), nor much by one that
// works in a real-time class (canary).
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"
#include "clock.h"
#include "environment.h"
#include "usage.h"

/// Longer than anything that may still be expected of a radio that has stopped.
#define REST_NS UINT64_C(200000000)
#define WINDOW_NS UINT64_C(1000000000)

static const spin_mode_t mode_off = {.name = "off", .spin = WS_SPIN_OFF};
static const spin_mode_t mode_auto = {.name = "auto", .spin = WS_SPIN_AUTO};

void measure_rest(bench_run_t *bench)
{
  if (!bench_set_mode(bench, &mode_auto))
    return;
  bench_run_periods(bench, arrivals_periods(&bench->arrivals, bench->question->warm_ms));
  clock_sleep_until(clock_now_ns() + REST_NS);
  // The producer wakes up to look, which is no fault of the pool: its own part is taken out.
  const usage_t begin = usage_now(USAGE_PROCESS), begin_own = usage_now(USAGE_THREAD);
  clock_sleep_until(clock_now_ns() + WINDOW_NS);
  const usage_t own = usage_since(begin_own, USAGE_THREAD), all = usage_since(begin, USAGE_PROCESS);
  report_text(bench->report, "mode", "auto");
  report_number(bench->report, "wall_s", all.wall_s);
  report_number(bench->report, "cpu_us", all.cpu_s > own.cpu_s ? (all.cpu_s - own.cpu_s) * 1e6 : 0);
  report_count(bench->report, "ctx_switches", all.ctx_switches - own.ctx_switches);
  bench_answer(bench->report);
}

typedef struct {
  pthread_t thread;
  int32_t cpu;
  bool started;
  _Atomic bool *stop;
} canary_t;

static void *sing(void *arg)
{
  const canary_t *const canary = arg;
  const struct sched_param param = {.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &param);
  environment_pin(canary->cpu);
  while (!atomic_load_explicit(canary->stop, memory_order_relaxed))
    ;
  return NULL;
}

static double thread_cpu_s(pthread_t thread)
{
  clockid_t clock;
  return pthread_getcpuclockid(thread, &clock) == 0 ? usage_clock_s(clock) : 0;
}

static void watch(bench_run_t *bench, canary_t *canaries, const spin_mode_t *mode)
{
  const question_t *const question = bench->question;
  double begin_s[bench->cores], share[bench->cores];
  if (!bench_set_mode(bench, mode))
    return;
  bench_run_periods(bench, 2);
  for (uint32_t i = 0; i < bench->cores; i++)
    begin_s[i] = thread_cpu_s(canaries[i].thread);
  const uint64_t begin_ns = clock_now_ns();
  bench_run_periods(bench, arrivals_periods(&bench->arrivals, question->measure_ms / 2));
  const double wall_s = (double)(clock_now_ns() - begin_ns) * 1e-9;
  for (uint32_t i = 0; i < bench->cores; i++)
    share[i] = (thread_cpu_s(canaries[i].thread) - begin_s[i]) / wall_s;
  report_text(bench->report, "mode", mode->name);
  report_count(bench->report, "cores", bench->cores);
  report_number(bench->report, "wall_s", wall_s);
  report_numbers(bench->report, "canary_share", share, bench->cores);
  bench_answer(bench->report);
}

void measure_canary(bench_run_t *bench)
{
  _Atomic bool stop = false;
  canary_t canaries[bench->cores];
  bool good = bench_set_mode(bench, &mode_auto);
  bench_run_periods(bench, arrivals_periods(&bench->arrivals, bench->question->warm_ms));
  for (uint32_t i = 0; i < bench->cores; i++) {
    canaries[i] = (canary_t){.cpu = bench->cpus[i], .stop = &stop};
    canaries[i].started = pthread_create(&canaries[i].thread, NULL, sing, &canaries[i]) == 0;
    good = good && canaries[i].started;
  }
  if (good) {
    watch(bench, canaries, &mode_off);
    watch(bench, canaries, &mode_auto);
  } else {
    report_error(bench->report, "no threads beside the pool's");
  }
  atomic_store(&stop, true);
  for (uint32_t i = 0; i < bench->cores; i++)
    if (canaries[i].started)
      pthread_join(canaries[i].thread, NULL);
}
