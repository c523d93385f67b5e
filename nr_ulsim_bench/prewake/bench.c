// SPDX-License-Identifier: BSD-3-Clause
#include "bench.h"

#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "clock.h"
#include "environment.h"

#define WORKER_NAME "prewake"
/// The kernel's clock of a thread's CPU time, as pthread_getcpuclockid() makes it of a pthread_t.
#define THREAD_CLOCK(tid) ((clockid_t)((~(uint32_t)(tid) << 3) | 6))

static bool load_plan(bench_run_t *bench)
{
  const request_t *const work = &bench->question->work;
  if (work->file[0] ? !slot_plan_from_file(&bench->plan, work->file, bench->report)
                    : !slot_plan_from_bursts(&bench->plan, work))
    return false;
  uint32_t most = 1;
  for (uint32_t i = 0; i < bench->plan.phase_count; i++)
    most = bench->plan.phases[i].task_count > most ? bench->plan.phases[i].task_count : most;
  const size_t starters = bench->cores + work->workers;
  bench->work = aligned_alloc(_Alignof(timed_task_t), most * sizeof bench->work[0]);
  bench->starts_ns = calloc(starters, sizeof bench->starts_ns[0]);
  bench->starters = calloc(starters, sizeof bench->starters[0]);
  if (bench->work && bench->starts_ns && bench->starters) {
    memset(bench->work, 0, most * sizeof bench->work[0]); // no page fault in the first burst
    return true;
  }
  report_error(bench->report, "no memory for %u tasks", most);
  return false;
}

static bool make_pool(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  const uint32_t workers = question->work.workers;
  int32_t *const cores = calloc(workers, sizeof cores[0]);
  for (uint32_t i = 0; cores && i < workers; i++)
    cores[i] = bench->cpus[bench->cores > 1 ? 1 + i % (bench->cores - 1) : 0];
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.name = WORKER_NAME;
  settings.workers = workers;
  settings.spin_cpu_max_percent = question->cap_percent;
  settings.spin_price = question->spin_price;
  if (question->pin && cores) {
    settings.cores = cores;
    settings.core_count = workers;
  }
  if (question->work.sched_class != CLASS_OTHER) {
    settings.sched_class = WS_CLASS_RR;
    settings.sched_priority = ENVIRONMENT_RT_PRIORITY;
  }
  const bool made = ws_pool_create(&bench->pool, &settings) == 0;
  free(cores);
  if (!made)
    report_error(bench->report, "no pool of %u workers", workers);
  return made;
}

/// The workers by their names: the pool does not tell the threads' numbers.
static bool find_workers(bench_run_t *bench)
{
  const uint32_t workers = bench->question->work.workers;
  uint32_t found = 0;
  DIR *const tasks = opendir("/proc/self/task");
  bench->tids = calloc(workers, sizeof bench->tids[0]);
  for (struct dirent *entry; tasks && bench->tids && (entry = readdir(tasks));) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/self/task/%.20s/comm", entry->d_name);
    FILE *const file = fopen(path, "r");
    if (file && fgets(name, sizeof name, file) && found < workers
        && strncmp(name, WORKER_NAME, strlen(WORKER_NAME)) == 0)
      bench->tids[found++] = atoi(entry->d_name);
    if (file)
      fclose(file);
  }
  if (tasks)
    closedir(tasks);
  if (found < workers)
    report_error(bench->report, "%u of %u workers found in /proc", found, workers);
  return found == workers;
}

double bench_worker_cpu_s(const bench_run_t *bench)
{
  double sum_s = 0;
  for (uint32_t i = 0; i < bench->question->work.workers; i++) {
    struct timespec used = {0};
    clock_gettime(THREAD_CLOCK(bench->tids[i]), &used);
    sum_s += (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
  }
  return sum_s;
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
  bench->report->length = 0;
  report_text(bench->report, "skipped", "the workers did not get their class or their CPUs");
  return false;
}

bool bench_open(bench_run_t *bench)
{
  const question_t *const question = bench->question;
  const uint32_t workers = question->work.workers;
  bench->cores = environment_cpus(bench->cpus);
  bench->helpers = workers < bench->cores ? workers : bench->cores - 1;
  if (!load_plan(bench) || !make_pool(bench) || !check_workers(bench) || !find_workers(bench))
    return false;
  prctl(PR_SET_TIMERSLACK, 1); // the producer's: the jitter is to be the one that was asked for
  if (question->pin && !environment_pin(bench->cpus[0])) {
    report_error(bench->report, "the producer cannot be pinned");
    return false;
  }
  if (question->work.sched_class == CLASS_RRALL && !environment_set_class(true, bench->report))
    return false;
  arrivals_begin(&bench->arrivals, question);
  return true;
}

void bench_close(bench_run_t *bench)
{
  ws_pool_destroy(bench->pool);
  slot_plan_free(&bench->plan);
  free(bench->work);
  free(bench->starts_ns);
  free(bench->starters);
  free(bench->tids);
}

bool bench_set_mode(bench_run_t *bench, const spin_mode_t *mode)
{
  // A fixed lead stands for tuning by hand without a view of CPU time: no cap. Its CPU time is in its cost.
  const uint32_t cap = mode->spin == WS_SPIN_FIXED ? 100 : bench->question->cap_percent;
  if (ws_pool_set_spin(bench->pool, mode->spin, mode->lead_ns) == 0
      && ws_pool_set_spin_cpu_max(bench->pool, cap) == 0)
    return true;
  report_error(bench->report, "the pool refuses mode %s", mode->name);
  return false;
}

void bench_seek(bench_run_t *bench, uint64_t number)
{
  const slot_plan_t *const plan = &bench->plan;
  uint32_t phase = 0;
  for (uint64_t slot = 0; slot < number % plan->slot_count; slot++)
    for (const uint32_t of = plan->phases[phase].slot; plan->phases[phase].slot == of;)
      phase++;
  bench->next_phase = phase;
}

bool bench_run_slot(bench_run_t *bench, slot_times_t *times, bool *late)
{
  const uint64_t start_ns = arrivals_next(&bench->arrivals);
  if (start_ns == 0)
    return false;
  *times = (slot_times_t){0};
  *late = clock_now_ns() > start_ns;
  clock_sleep_until(start_ns);
  const slot_plan_t *const plan = &bench->plan;
  const uint32_t first = bench->next_phase;
  uint32_t phase = first;
  const uint64_t begin_ns = clock_now_ns();
  for (bool first_burst = true;
       phase < plan->phase_count && plan->phases[phase].slot == plan->phases[first].slot; phase++) {
    if (plan->phases[phase].serial_ns)
      busy_work(plan->phases[phase].serial_ns);
    if (plan->phases[phase].task_count) {
      burst_run(bench, &plan->phases[phase], first_burst, times);
      first_burst = false;
    }
  }
  times->makespan_ns = clock_now_ns() - begin_ns;
  times->bound_ns = slot_plan_bound_ns(plan, first, phase - first, bench->helpers + 1, &times->work_ns);
  bench->next_phase = phase < plan->phase_count ? phase : 0;
  return true;
}

void bench_run_periods(bench_run_t *bench, uint64_t periods)
{
  slot_times_t times;
  bool late;
  for (uint64_t slot = 0; slot < periods * bench->arrivals.pattern_slots; slot++)
    bench_run_slot(bench, &times, &late);
}

void bench_answer(report_t *report)
{
  printf("{%.*s}\n", (int)report->length, report->text);
  fflush(stdout);
  report->length = 0;
}
