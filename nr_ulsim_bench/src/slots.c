// SPDX-License-Identifier: BSD-3-Clause
// Slots: what a radio does. Every period the producer wakes, pushes a burst and joins it, perhaps another,
// and sleeps.
#include "clock.h"
#include "memory.h"
#include "session.h"
#include "slot_plan.h"
#include "threads.h"
#include "usage.h"

/// As a gNB counts them: slots of 0.5 ms in frames of 10 ms.
#define SLOTS_PER_FRAME 20u
#define FRAMES 1024u
/// Bursts of a slot whose times are reported one by one; further ones are in the makespan only.
#define BURSTS_SHOWN 8u

/// A task's own cache line, as OAI's callers have it: neighbours run on different CPUs.
typedef struct {
  _Alignas(64) uint64_t work_ns;
  uint64_t start_ns;
  bool on_worker;
} timed_task_t;

typedef struct {
  uint64_t push_ns; ///< all pushes of the slot
  uint64_t start_lag_ns; ///< from the first push to the first task that starts on a worker; 0 = none did
  uint64_t makespan_ns;
  uint64_t burst_ns[BURSTS_SHOWN]; ///< by place in the slot, from the first push to the end of the join
  uint32_t bursts;
} slot_times_t;

typedef struct {
  session_t *session;
  slot_plan_t plan;
  timed_task_t *work; ///< of the tasks of one phase
  bench_task_t *tasks; ///< point to work
  uint64_t pushed_tasks;
  uint32_t slots_begun;
} slot_bench_t;

/// Series of one measurement, one value a slot.
typedef struct {
  uint64_t *makespan_ns, *push_ns, *start_lag_ns, *ratio_ppm;
  uint32_t slots, start_lags;
  uint64_t makespan_sum_ns, work_ns;
  double bound_ns;
  uint64_t burst_ns[BURSTS_SHOWN]; ///< sums over the slots
  uint32_t bursts;
  uint32_t late_slots; ///< that began late because the one before took longer than the period
} slot_series_t;

static void run_timed(void *arg)
{
  timed_task_t *const work = arg;
  work->start_ns = busy_work(work->work_ns);
  work->on_worker = thread_slot()->worker;
  thread_count_task();
}

static uint64_t first_start_on_worker(const timed_task_t *work, uint32_t count)
{
  uint64_t first_ns = 0;
  for (uint32_t i = 0; i < count; i++)
    if (work[i].on_worker && (first_ns == 0 || work[i].start_ns < first_ns))
      first_ns = work[i].start_ns;
  return first_ns;
}

static void tell(const slot_bench_t *bench, bench_phase_t kind, bool begin)
{
  const bench_backend_t *const backend = bench->session->backend;
  const uint32_t frame = bench->slots_begun / SLOTS_PER_FRAME % FRAMES;
  if (!backend->phase_begin || kind == BENCH_PHASE_NONE)
    return;
  if (begin)
    backend->phase_begin(kind, frame, bench->slots_begun % SLOTS_PER_FRAME);
  else
    backend->phase_end(kind);
}

static void run_phase(slot_bench_t *bench, const phase_t *phase, slot_times_t *times)
{
  const bench_backend_t *const backend = bench->session->backend;
  void *const pool = bench->session->pool;
  if (phase->serial_ns)
    busy_work(phase->serial_ns);
  if (phase->task_count == 0)
    return;
  for (uint32_t i = 0; i < phase->task_count; i++)
    bench->work[i].work_ns = bench->plan.task_ns[phase->first_task + i];
  tell(bench, phase->kind, true);
  session_arm(bench->session, phase->task_count);
  const uint64_t begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < phase->task_count; i++)
    backend->push(pool, &bench->tasks[i]);
  const uint64_t pushed_ns = clock_now_ns();
  backend->wait(pool);
  tell(bench, phase->kind, false);
  if (times->bursts < BURSTS_SHOWN)
    times->burst_ns[times->bursts++] = clock_now_ns() - begin_ns;
  bench->pushed_tasks += phase->task_count;
  times->push_ns += pushed_ns - begin_ns;
  if (times->start_lag_ns == 0) {
    const uint64_t start_ns = first_start_on_worker(bench->work, phase->task_count);
    times->start_lag_ns = start_ns > begin_ns ? start_ns - begin_ns : 0;
  }
}

/// @return index of the first phase of the next slot
static uint32_t run_slot(slot_bench_t *bench, uint32_t first_phase, slot_times_t *times)
{
  const slot_plan_t *const plan = &bench->plan;
  *times = (slot_times_t){0};
  const uint64_t begin_ns = clock_now_ns();
  uint32_t phase = first_phase;
  for (; phase < plan->phase_count && plan->phases[phase].slot == plan->phases[first_phase].slot; phase++)
    run_phase(bench, &plan->phases[phase], times);
  times->makespan_ns = clock_now_ns() - begin_ns;
  bench->slots_begun++;
  return phase;
}

static void record_slot(slot_series_t *series, const slot_times_t *times, double bound_ns)
{
  const uint32_t slot = series->slots++;
  series->makespan_ns[slot] = times->makespan_ns;
  series->makespan_sum_ns += times->makespan_ns;
  series->push_ns[slot] = times->push_ns;
  series->ratio_ppm[slot] = (uint64_t)((double)times->makespan_ns / bound_ns * 1e6);
  series->bound_ns += bound_ns;
  for (uint32_t i = 0; i < times->bursts; i++)
    series->burst_ns[i] += times->burst_ns[i];
  series->bursts = times->bursts > series->bursts ? times->bursts : series->bursts;
  if (times->start_lag_ns)
    series->start_lag_ns[series->start_lags++] = times->start_lag_ns;
}

/// Slots from the plan, over and over, the producer asleep in between.
static void run_slots(slot_bench_t *bench, slot_series_t *series, uint32_t slots, bool record)
{
  const uint64_t period_ns = bench->session->request->period_us * 1000;
  uint64_t start_ns = clock_now_ns();
  for (uint32_t slot = 0, phase = 0; slot < slots; slot++) {
    start_ns += period_ns;
    const uint64_t now_ns = clock_now_ns();
    if (start_ns < now_ns) {
      series->late_slots += record;
      start_ns = now_ns;
    }
    clock_sleep_until(start_ns);
    slot_times_t times;
    const uint32_t first = phase;
    phase = run_slot(bench, first, &times);
    if (record)
      record_slot(
          series, &times,
          slot_plan_bound_ns(&bench->plan, first, phase - first, bench->session->cores, &series->work_ns));
    if (phase == bench->plan.phase_count)
      phase = 0;
  }
}

static void report_bursts(report_t *report, const slot_series_t *series)
{
  double mean_us[BURSTS_SHOWN];
  for (uint32_t i = 0; i < series->bursts; i++)
    mean_us[i] = (double)series->burst_ns[i] / series->slots * 1e-3;
  report_numbers(report, "burst_mean_us", mean_us, series->bursts);
}

/// A pool that had settled has 1: what counts does not become faster.
static void report_drift(report_t *report, slot_series_t *series)
{
  const uint32_t half = series->slots / 2;
  if (half == 0)
    return;
  const double first = percentile_us(series->ratio_ppm, half, 50);
  const double second = percentile_us(series->ratio_ppm + half, series->slots - half, 50);
  report_number(report, "drift", second / first);
}

static void report_slots(slot_bench_t *bench, slot_series_t *series, usage_t cost)
{
  report_t *const report = bench->session->report;
  report_number(report, "wall_s", cost.wall_s);
  report_number(report, "cpu_s", cost.cpu_s);
  report_count(report, "ctx_switches", cost.ctx_switches);
  report_number(report, "work_s", (double)series->work_ns * 1e-9);
  report_number(report, "bound_us", series->bound_ns / series->slots * 1e-3);
  report_count(report, "slots", series->slots);
  report_count(report, "late_slots", series->late_slots);
  report_number(report, "makespan_mean_us", (double)series->makespan_sum_ns / series->slots * 1e-3);
  report_bursts(report, series);
  report_percentiles(report, "makespan", series->makespan_ns, series->slots);
  report_drift(report, series); // before the others sort
  if (bench->session->request->histogram)
    report_histogram(report, "makespan_histogram_ns", series->makespan_ns, series->slots);
  report_number(report, "ratio_p50", percentile_us(series->ratio_ppm, series->slots, 50) * 1e-3);
  report_number(report, "ratio_p99", percentile_us(series->ratio_ppm, series->slots, 99) * 1e-3);
  report_number(report, "ratio_p999", percentile_us(series->ratio_ppm, series->slots, 99.9) * 1e-3);
  report_number(report, "push_us", percentile_us(series->push_ns, series->slots, 50));
  if (series->start_lags)
    report_number(report, "start_lag_us", percentile_us(series->start_lag_ns, series->start_lags, 50));
}

/// The first slots of the pool's life, under names of their own.
static void report_start(report_t *report, slot_series_t *start)
{
  report_count(report, "start_slots", start->slots);
  report_number(report, "start_makespan_p50_us", percentile_us(start->makespan_ns, start->slots, 50));
  report_number(report, "start_makespan_p99_us", percentile_us(start->makespan_ns, start->slots, 99));
  report_number(report, "start_ratio_p50", percentile_us(start->ratio_ppm, start->slots, 50) * 1e-3);
  report_number(report, "start_ratio_p99", percentile_us(start->ratio_ppm, start->slots, 99) * 1e-3);
}

static void prepare_tasks(slot_bench_t *bench)
{
  const uint32_t most = bench->plan.tasks_max;
  bench->work = allot(most, sizeof bench->work[0]);
  bench->tasks = allot(most, sizeof bench->tasks[0]);
  for (uint32_t i = 0; i < most; i++)
    bench->tasks[i] = (bench_task_t){.func = run_timed, .arg = &bench->work[i]};
}

static slot_series_t make_series(uint32_t slots)
{
  return (slot_series_t){.makespan_ns = allot(slots, sizeof(uint64_t)),
                         .push_ns = allot(slots, sizeof(uint64_t)),
                         .start_lag_ns = allot(slots, sizeof(uint64_t)),
                         .ratio_ppm = allot(slots, sizeof(uint64_t))};
}

static uint64_t stopped_callers(const session_t *session)
{
  return session->backend->stopped_callers ? session->backend->stopped_callers(session->pool) : 0;
}

/// The start, the warm-up, then what counts.
void measure_slots(session_t *session)
{
  const request_t *const request = session->request;
  report_t *const report = session->report;
  slot_bench_t bench = {.session = session, .pushed_tasks = threads_run_tasks()};
  slot_series_t start = make_series(request->start_slots), series = make_series(request->slots);
  if (!slot_plan_make(&bench.plan, request, report))
    return;
  prepare_tasks(&bench);
  run_slots(&bench, &start, request->start_slots, true);
  run_slots(&bench, &series, request->warm_slots, false);
  const uint64_t stopped_before = stopped_callers(session);
  const usage_t begin = usage_now(USAGE_PROCESS);
  run_slots(&bench, &series, request->slots, true);
  const usage_t cost = usage_since(begin, USAGE_PROCESS);
  if (!session_check_tasks(session, bench.pushed_tasks))
    return;
  report_slots(&bench, &series, cost);
  if (session->backend->stopped_callers)
    report_count(report, "stopped_callers", stopped_callers(session) - stopped_before);
  if (start.slots)
    report_start(report, &start);
  report_count(report, "warm_slots", request->warm_slots);
  report_number(report, "settled_s",
                (double)(request->start_slots + request->warm_slots) * (double)request->period_us * 1e-6);
}
