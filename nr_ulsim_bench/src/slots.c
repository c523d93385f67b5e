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
} timed_task_t;

/// The measured figures, one value a slot.
typedef struct {
  uint64_t *makespan_ns, *ratio_ppm;
  uint32_t slots;
  uint64_t makespan_sum_ns, work_ns;
  double bound_ns;
  uint64_t burst_ns[BURSTS_SHOWN]; ///< from the first push to the end of the join, sums over the slots
  uint32_t bursts;
} slot_series_t;

typedef struct {
  session_t *session;
  slot_plan_t plan;
  timed_task_t *work; ///< of the tasks of one phase
  bench_task_t *tasks; ///< point to work
  slot_arrivals_t arrivals;
  uint32_t *all_tasks; ///< of each phase; the plan has those of this slot
  uint64_t pushed_tasks;
  uint32_t slots_begun;
  slot_series_t series;
} slot_bench_t;

static void run_timed(void *arg)
{
  const timed_task_t *const work = arg;
  busy_work(work->work_ns);
  thread_count_task();
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

/// @return ns from the first push to the end of the join
static uint64_t run_burst(slot_bench_t *bench, const phase_t *phase)
{
  const bench_backend_t *const backend = bench->session->backend;
  void *const pool = bench->session->pool;
  for (uint32_t i = 0; i < phase->task_count; i++)
    bench->work[i].work_ns = bench->plan.task_ns[phase->first_task + i];
  tell(bench, phase->kind, true);
  session_arm(bench->session, phase->task_count);
  const uint64_t begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < phase->task_count; i++)
    backend->push(pool, &bench->tasks[i]);
  backend->wait(pool);
  tell(bench, phase->kind, false);
  bench->pushed_tasks += phase->task_count;
  return clock_now_ns() - begin_ns;
}

/// @return index of the first phase of the next slot
static uint32_t run_slot(slot_bench_t *bench, uint32_t first)
{
  const slot_plan_t *const plan = &bench->plan;
  slot_series_t *const series = &bench->series;
  const uint64_t begin_ns = clock_now_ns();
  uint32_t i = first, bursts = 0;
  for (; i < plan->phase_count && plan->phases[i].slot == plan->phases[first].slot; i++) {
    plan->phases[i].task_count = arrivals_size(&bench->arrivals, bench->all_tasks[i]);
    busy_work(plan->phases[i].serial_ns);
    const uint64_t took_ns = plan->phases[i].task_count ? run_burst(bench, &plan->phases[i]) : 0;
    if (took_ns && bursts < BURSTS_SHOWN)
      series->burst_ns[bursts++] += took_ns;
  }
  const uint64_t makespan_ns = clock_now_ns() - begin_ns;
  const double bound_ns = slot_plan_bound_ns(plan, first, i - first, bench->session->cores, &series->work_ns);
  series->makespan_ns[series->slots] = makespan_ns;
  series->ratio_ppm[series->slots++] = (uint64_t)((double)makespan_ns / bound_ns * 1e6);
  series->makespan_sum_ns += makespan_ns;
  series->bound_ns += bound_ns;
  series->bursts = bursts > series->bursts ? bursts : series->bursts;
  bench->slots_begun++;
  return i < plan->phase_count ? i : 0;
}

/// Slots from the plan, over and over, the producer asleep in between.
static void run_slots(slot_bench_t *bench, uint32_t slots)
{
  const double period_ns = (double)bench->session->request->period_us * 1000;
  uint64_t start_ns = clock_now_ns();
  bench->series = (slot_series_t){.makespan_ns = allot(slots, sizeof(uint64_t)),
                                  .ratio_ppm = allot(slots, sizeof(uint64_t))};
  for (uint32_t slot = 0, phase = 0; slot < slots; slot++) {
    start_ns += (uint64_t)(arrivals_gap(&bench->arrivals) * period_ns);
    const uint64_t now_ns = clock_now_ns();
    if (start_ns < now_ns) // the slot before took longer than the period
      start_ns = now_ns;
    clock_sleep_until(start_ns);
    phase = run_slot(bench, phase);
  }
}

static void report_bursts(report_t *report, const slot_series_t *series)
{
  double mean_us[BURSTS_SHOWN];
  for (uint32_t i = 0; i < series->bursts; i++)
    mean_us[i] = (double)series->burst_ns[i] / series->slots * 1e-3;
  report_numbers(report, "burst_mean_us", mean_us, series->bursts);
}

static void report_slots(slot_bench_t *bench, usage_t cost)
{
  slot_series_t *const series = &bench->series;
  report_t *const report = bench->session->report;
  report_number(report, "wall_s", cost.wall_s);
  report_number(report, "cpu_s", cost.cpu_s);
  report_count(report, "ctx_switches", cost.ctx_switches);
  report_number(report, "work_s", (double)series->work_ns * 1e-9);
  report_number(report, "bound_us", series->bound_ns / series->slots * 1e-3);
  report_count(report, "slots", series->slots);
  report_number(report, "makespan_mean_us", (double)series->makespan_sum_ns / series->slots * 1e-3);
  report_bursts(report, series);
  report_percentiles(report, "makespan", series->makespan_ns, series->slots);
  if (bench->session->request->histogram)
    report_histogram(report, "makespan_histogram_ns", series->makespan_ns, series->slots);
  report_number(report, "ratio_p50", percentile_us(series->ratio_ppm, series->slots, 50) * 1e-3);
  report_number(report, "ratio_p99", percentile_us(series->ratio_ppm, series->slots, 99) * 1e-3);
}

static void prepare_tasks(slot_bench_t *bench)
{
  const uint32_t most = bench->plan.tasks_max;
  bench->work = allot(most, sizeof bench->work[0]);
  bench->tasks = allot(most, sizeof bench->tasks[0]);
  bench->all_tasks = allot(bench->plan.phase_count, sizeof bench->all_tasks[0]);
  for (uint32_t i = 0; i < bench->plan.phase_count; i++)
    bench->all_tasks[i] = bench->plan.phases[i].task_count;
  for (uint32_t i = 0; i < most; i++)
    bench->tasks[i] = (bench_task_t){.func = run_timed, .arg = &bench->work[i]};
}

static uint64_t stopped_callers(const session_t *session)
{
  return session->backend->stopped_callers ? session->backend->stopped_callers(session->pool) : 0;
}

/// The warm-up, then what counts.
void measure_slots(session_t *session)
{
  const request_t *const request = session->request;
  report_t *const report = session->report;
  slot_bench_t bench = {
      .session = session, .arrivals = request->arrivals, .pushed_tasks = threads_run_tasks()};
  if (!slot_plan_make(&bench.plan, request, report))
    return;
  prepare_tasks(&bench);
  run_slots(&bench, request->warm_slots);
  const uint64_t stopped_before = stopped_callers(session);
  const usage_t begin = usage_now(USAGE_PROCESS);
  run_slots(&bench, request->slots);
  const usage_t cost = usage_since(begin, USAGE_PROCESS);
  if (!session_check_tasks(session, bench.pushed_tasks))
    return;
  report_slots(&bench, cost);
  if (session->backend->stopped_callers)
    report_count(report, "stopped_callers", stopped_callers(session) - stopped_before);
}
