// SPDX-License-Identifier: BSD-3-Clause
// One slot of the radio, and how late each CPU was for its bursts.
//
// Lateness: a burst of n tasks wants min(workers, cores - 1, n - 1) CPUs beside the producer's. For each of
// them the time from the first push to its first task, the mean over them; one that got no task counts with
// the whole makespan. No lag is longer than the tasks take one after the other: what is beyond is no waking,
// but another thread on the producer's own CPU. CPUs, not workers: a worker that the kernel lets run on the
// producer's own CPU starts at once, but nothing is gained. A burst of one task, which wants no other CPU, is
// as late as that task.
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "memory.h"
#include "prewake.h"

uint64_t random_below(random_t *random, uint64_t bound)
{
  random->state += UINT64_C(0x9e3779b97f4a7c15);
  uint64_t bits = random->state;
  bits = (bits ^ (bits >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  bits = (bits ^ (bits >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (bits ^ (bits >> 31)) % bound;
}

static bool make_pool(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  const uint32_t workers = question->work.workers;
  int32_t cores[workers];
  for (uint32_t i = 0; i < workers; i++)
    cores[i] = (int32_t)cpus_nth(&bench->cpus, bench->cores > 1 ? 1 + i % (bench->cores - 1) : 0);
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = "prewake";
  settings.workers = workers;
  settings.spin_cpu_max_percent = question->cap_percent;
  settings.spin_price = question->spin_price;
  if (question->pin) {
    settings.cores = cores;
    settings.core_count = workers;
  }
  if (question->work.sched_class != CLASS_OTHER) {
    settings.sched_class = WS_CLASS_RR;
    settings.sched_priority = RT_PRIORITY;
  }
  if (ws_pool_create(&bench->pool, &settings) == 0)
    return true;
  report_error(bench->report, "no pool of %u workers", workers);
  return false;
}

/// A measurement of one class must not be taken for that of another.
static bool check_workers(bench_run_t *bench)
{
  ws_stats_t stats;
  const uint32_t workers = bench->question->work.workers;
  const uint32_t realtime = bench->question->work.sched_class == CLASS_OTHER ? 0 : workers;
  ws_pool_stats(bench->pool, &stats, NULL, 0);
  if (stats.workers == workers && stats.workers_realtime == realtime
      && (!bench->question->pin || stats.workers_pinned == workers))
    return true;
  report_error(bench->report, "the workers did not get their class or their CPUs");
  return false;
}

bool bench_open(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  const uint32_t workers = question->work.workers;
  const struct sched_param param = {.sched_priority = RT_PRIORITY};
  bench->cpus = cpus_mask();
  bench->cores = cpus_count();
  bench->helpers = workers < bench->cores ? workers : bench->cores - 1;
  if (!slot_plan_make(&bench->plan, &question->work, bench->report))
    return false;
  bench->work = allot(bench->plan.tasks_max, sizeof bench->work[0]);
  bench->starts = allot(bench->cores, sizeof bench->starts[0]);
  if (!make_pool(bench) || !check_workers(bench))
    return false;
  prctl(PR_SET_TIMERSLACK, 1); // the producer's: the jitter is to be the one that was asked for
  if (question->pin && !cpus_pin(0, cpus_nth(&bench->cpus, 0))) {
    report_error(bench->report, "the producer cannot be pinned");
    return false;
  }
  if (question->work.sched_class == CLASS_RRALL && sched_setscheduler(0, SCHED_RR, &param) != 0) {
    report_error(bench->report, "the class of the producer cannot be set: %s", strerror(errno));
    return false;
  }
  bench->arrivals = (arrivals_t){
      .base_ns = clock_now_ns() + 4 * question->slot_us * 1000,
      .slot_ns = (double)question->slot_us * 1e3 * (1 + question->drift_ppm * 1e-6),
  };
  bench_set_pattern(bench, question->pattern);
  bench_seek(bench, 0, 0);
  return true;
}

bool bench_set_mode(bench_run_t *bench, ws_spin_t spin, uint64_t lead_ns)
{
  // A fixed lead stands for tuning by hand without a view of CPU time: no cap. Its CPU time is in its cost.
  const uint32_t cap = spin == WS_SPIN_FIXED ? 100 : bench->question->cap_percent;
  if (ws_pool_set_spin(bench->pool, spin, lead_ns) == 0 && ws_pool_set_spin_cpu_max(bench->pool, cap) == 0)
    return true;
  report_error(bench->report, "the pool refuses the mode");
  return false;
}

void bench_seek(bench_run_t *bench, uint64_t number, uint64_t block)
{
  const slot_plan_t *const plan = &bench->plan;
  uint32_t phase = 0;
  for (uint64_t slot = 0; slot < number % plan->slot_count; slot++)
    for (const uint32_t of = plan->phases[phase].slot; plan->phases[phase].slot == of;)
      phase++;
  bench->next_phase = phase;
  bench->arrivals.random.state = bench->question->seed << 32 ^ block;
}

void bench_set_pattern(bench_run_t *bench, const char *pattern)
{
  arrivals_t *const arrivals = &bench->arrivals;
  arrivals->pattern = pattern;
  arrivals->pattern_slots = (uint32_t)strlen(pattern);
  arrivals->pattern_bursts = 0;
  for (const char *slot = pattern; *slot; slot++)
    arrivals->pattern_bursts += *slot == 'U';
  // Slots are counted in whole patterns.
  while (arrivals->slot % arrivals->pattern_slots)
    arrivals->slot++;
}

uint64_t bench_slots(const bench_run_t *bench, uint64_t duration_ms)
{
  const uint64_t period_us = bench->arrivals.pattern_slots * bench->question->slot_us;
  return (duration_ms * 1000 + period_us - 1) / period_us * bench->arrivals.pattern_slots;
}

static uint64_t slot_begin_ns(const arrivals_t *arrivals)
{
  return arrivals->base_ns + (uint64_t)((double)arrivals->slot * arrivals->slot_ns);
}

static void drop_lost_periods(arrivals_t *arrivals)
{
  const uint64_t now_ns = clock_now_ns();
  while (slot_begin_ns(arrivals) + (uint64_t)arrivals->slot_ns < now_ns)
    arrivals->slot += arrivals->pattern_slots;
}

/// Go to the next slot. @return when its burst comes; 0 = it has none
static uint64_t next_arrival(arrivals_t *arrivals, const question_t *question)
{
  if (arrivals->slot % arrivals->pattern_slots == 0)
    drop_lost_periods(arrivals);
  const uint64_t begin_ns = slot_begin_ns(arrivals);
  const uint64_t slot = arrivals->slot++;
  if (arrivals->pattern[slot % arrivals->pattern_slots] == 'D')
    return 0;
  const uint64_t jitter_ns = random_below(&arrivals->random, 2 * question->jitter_us * 1000 + 1);
  return begin_ns + jitter_ns - question->jitter_us * 1000;
}

static void run_timed(void *arg)
{
  timed_task_t *const work = arg;
  work->on_worker = ws_worker_index() >= 0;
  work->cpu = sched_getcpu();
  work->start_ns = busy_work(work->work_ns);
}

/// The first start of a CPU is the earliest of its tasks'. Kept sorted, for the lists are short.
/// @return number of CPUs
static uint32_t add_start(start_t *starts, uint32_t count, start_t start)
{
  uint32_t at = 0;
  while (at < count && starts[at].cpu != start.cpu)
    at++;
  if (at == count)
    starts[count++] = start;
  else if (start.ns < starts[at].ns)
    starts[at].ns = start.ns;
  for (; at > 0 && starts[at].ns < starts[at - 1].ns; at--) {
    const start_t earlier = starts[at];
    starts[at] = starts[at - 1];
    starts[at - 1] = earlier;
  }
  return count;
}

/// The lags of the wanted CPUs: those of the earliest starts.
static void note_lags(const bench_run_t *bench, uint32_t tasks, int32_t own_cpu, uint64_t begin_ns,
                      slot_times_t *times)
{
  const uint64_t end_ns = clock_now_ns();
  const uint32_t further = tasks - 1 < bench->helpers ? tasks - 1 : bench->helpers;
  const uint32_t wanted = further ? further : 1;
  uint64_t work_ns = 0, sum_ns = 0;
  uint32_t cpus = 0;
  for (uint32_t i = 0; i < tasks; i++) {
    const timed_task_t *const work = &bench->work[i];
    work_ns += work->work_ns;
    times->worker_work_ns += work->on_worker ? work->work_ns : 0;
    if (work->cpu != own_cpu || further == 0)
      cpus = add_start(bench->starts, cpus, (start_t){work->cpu, work->start_ns});
  }
  for (uint32_t i = 0; i < wanted; i++) {
    const uint64_t lag_ns = (i < cpus ? bench->starts[i].ns : end_ns) - begin_ns;
    sum_ns += lag_ns < work_ns ? lag_ns : work_ns;
  }
  times->work_ns += work_ns;
  times->lateness_ns += sum_ns / wanted;
}

static void run_burst(bench_run_t *bench, const phase_t *phase, slot_times_t *times)
{
  for (uint32_t i = 0; i < phase->task_count; i++)
    bench->work[i].work_ns = bench->plan.task_ns[phase->first_task + i];
  ws_group_t group;
  ws_group_init(&group, phase->task_count);
  const int32_t cpu = sched_getcpu();
  const uint64_t begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < phase->task_count; i++)
    ws_pool_push(bench->pool, (ws_task_t){.func = run_timed, .arg = &bench->work[i], .group = &group});
  ws_group_wait(&group, bench->pool);
  note_lags(bench, phase->task_count, cpu, begin_ns, times);
}

bool bench_run_slot(bench_run_t *bench, slot_times_t *times)
{
  const uint64_t start_ns = next_arrival(&bench->arrivals, bench->question);
  if (start_ns == 0)
    return false;
  *times = (slot_times_t){0};
  clock_sleep_until(start_ns);
  const slot_plan_t *const plan = &bench->plan;
  const uint32_t first = bench->next_phase;
  uint32_t phase = first;
  for (; phase < plan->phase_count && plan->phases[phase].slot == plan->phases[first].slot; phase++) {
    busy_work(plan->phases[phase].serial_ns);
    times->work_ns += plan->phases[phase].serial_ns;
    if (plan->phases[phase].task_count)
      run_burst(bench, &plan->phases[phase], times);
  }
  bench->next_phase = phase < plan->phase_count ? phase : 0;
  return true;
}

void bench_run_slots(bench_run_t *bench, uint64_t slots)
{
  slot_times_t times;
  while (slots-- > 0)
    bench_run_slot(bench, &times);
}
