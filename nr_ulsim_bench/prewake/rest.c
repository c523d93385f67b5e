// SPDX-License-Identifier: BSD-3-Clause
// How long mode auto needs to find its way again when something has changed under it (step); and what others
// have of the CPUs: nothing is taken from them by a pool that rests (idle), nor much by one that works in a
// real-time class (canary).
#include <pthread.h>
#include <stdatomic.h>

#include "clock.h"
#include "prewake.h"
#include "usage.h"

/// Lateness is averaged over so much time: some tens of bursts.
#define WINDOW_MS 100u
#define WINDOWS_MAX 1000u
/// Of a slot: no multiple of anything that the pool could take for a period.
#define JUMP 0.37
/// Longer than anything that may still be expected of a radio that has stopped.
#define REST_NS UINT64_C(200000000)
#define REST_WINDOW_NS UINT64_C(1000000000)

static double window_lateness_us(bench_run_t *bench)
{
  slot_times_t times;
  uint32_t slots = 0;
  uint64_t sum_ns = 0;
  for (uint64_t left = bench_slots(bench, WINDOW_MS); left > 0; left--)
    if (bench_run_slot(bench, &times)) {
      slots++;
      sum_ns += times.lateness_ns;
    }
  return slots ? (double)sum_ns * 1e-3 / slots : 0;
}

static void watch_step(bench_run_t *bench, const char *step)
{
  double mean_us[WINDOWS_MAX];
  const uint64_t wanted = bench->question->measure_ms / WINDOW_MS;
  const uint32_t windows = wanted < 1 ? 1 : wanted > WINDOWS_MAX ? WINDOWS_MAX : (uint32_t)wanted;
  for (uint32_t i = 0; i < windows; i++)
    mean_us[i] = window_lateness_us(bench);
  report_text(bench->report, "mode", step);
  report_number(bench->report, "window_s", WINDOW_MS * 1e-3);
  report_numbers(bench->report, "window_lateness_us", mean_us, windows);
  report_print(bench->report);
}

void measure_step(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  if (!bench_set_mode(bench, &mode_auto))
    return;
  inject_set(0, 0, question->seed);
  watch_step(bench, "start");
  inject_set(question->inject_us * 1000, question->bimodal_percent, question->seed);
  watch_step(bench, "slower");
  inject_set(0, 0, question->seed);
  watch_step(bench, "quicker");
  bench->arrivals.base_ns += (uint64_t)(JUMP * (double)question->slot_us * 1e3);
  watch_step(bench, "jump");
  bench_set_pattern(bench, question->next_pattern);
  watch_step(bench, "pattern");
}

void measure_rest(bench_run_t *bench)
{
  if (!bench_set_mode(bench, &mode_auto))
    return;
  bench_run_slots(bench, bench_slots(bench, bench->question->warm_ms));
  clock_sleep_until(clock_now_ns() + REST_NS);
  const usage_t used = usage_asleep(REST_WINDOW_NS);
  report_text(bench->report, "mode", "auto");
  report_number(bench->report, "wall_s", used.wall_s);
  report_number(bench->report, "cpu_us", used.cpu_s * 1e6);
  report_count(bench->report, "ctx_switches", used.ctx_switches);
  report_print(bench->report);
}

typedef struct {
  pthread_t thread;
  uint32_t cpu;
  bool started;
  _Atomic bool *stop;
} canary_t;

static void *sing(void *arg)
{
  const canary_t *const canary = arg;
  const struct sched_param param = {.sched_priority = 0};
  sched_setscheduler(0, SCHED_OTHER, &param);
  cpus_pin(0, canary->cpu);
  while (!atomic_load_explicit(canary->stop, memory_order_relaxed))
    ;
  return NULL;
}

static double thread_cpu_s(pthread_t thread)
{
  clockid_t clock;
  return pthread_getcpuclockid(thread, &clock) == 0 ? usage_clock_s(clock) : 0;
}

static void watch_canaries(bench_run_t *bench, canary_t *canaries, const spin_mode_t *mode)
{
  double begin_s[bench->cores], share[bench->cores];
  if (!bench_set_mode(bench, mode))
    return;
  bench_run_slots(bench, 2 * (uint64_t)bench->arrivals.pattern_slots);
  for (uint32_t i = 0; i < bench->cores; i++)
    begin_s[i] = thread_cpu_s(canaries[i].thread);
  const uint64_t begin_ns = clock_now_ns();
  bench_run_slots(bench, bench_slots(bench, bench->question->measure_ms / 2));
  const double wall_s = (double)(clock_now_ns() - begin_ns) * 1e-9;
  for (uint32_t i = 0; i < bench->cores; i++)
    share[i] = (thread_cpu_s(canaries[i].thread) - begin_s[i]) / wall_s;
  report_text(bench->report, "mode", mode->name);
  report_count(bench->report, "cores", bench->cores);
  report_numbers(bench->report, "canary_share", share, bench->cores);
  report_print(bench->report);
}

void measure_canary(bench_run_t *bench)
{
  _Atomic bool stop = false;
  canary_t canaries[bench->cores];
  bool good = bench_set_mode(bench, &mode_auto);
  bench_run_slots(bench, bench_slots(bench, bench->question->warm_ms));
  for (uint32_t i = 0; i < bench->cores; i++) {
    canaries[i] = (canary_t){.cpu = cpus_nth(&bench->cpus, i), .stop = &stop};
    canaries[i].started = pthread_create(&canaries[i].thread, NULL, sing, &canaries[i]) == 0;
    good = good && canaries[i].started;
  }
  if (good) {
    watch_canaries(bench, canaries, &mode_off);
    watch_canaries(bench, canaries, &mode_auto);
  } else {
    report_error(bench->report, "no threads beside the pool's");
  }
  atomic_store(&stop, true);
  for (uint32_t i = 0; i < bench->cores; i++)
    if (canaries[i].started)
      pthread_join(canaries[i].thread, NULL);
}
