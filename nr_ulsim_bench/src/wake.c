// SPDX-License-Identifier: BSD-3-Clause
// How long an idle pool takes to start a task, and what it costs while it is idle.
#include <sched.h>
#include <stdatomic.h>

#include "clock.h"
#include "memory.h"
#include "session.h"
#include "threads.h"
#include "usage.h"

/// The work before an idle check, and the window of the check itself.
#define IDLE_BURSTS 20u
#define IDLE_TASK_NS 20000u
#define IDLE_WINDOW_NS UINT64_C(200000000)

typedef struct {
  _Alignas(64) _Atomic uint64_t start_ns;
  bool on_worker;
  int cpu;
} wake_task_t;

/// A start on the producer's own CPU is quick, because the worker only has to push the producer off, but
/// brings no second CPU: such starts are told apart.
typedef struct {
  uint64_t *latency_ns, *other_cpu_ns;
  uint32_t starts, other_cpu_starts;
} wake_series_t;

static void run_wake(void *arg)
{
  wake_task_t *const task = arg;
  task->on_worker = thread_slot()->worker;
  task->cpu = sched_getcpu();
  atomic_store(&task->start_ns, clock_now_ns());
  thread_count_task();
}

/// Push a task and see when and where it starts: the producer polls until then, or until the limit of the
/// measurement, because beside other programs a worker may get its CPU late.
/// @return false after report_error()
static bool wake_once(session_t *session, wake_series_t *series)
{
  wake_task_t work = {.start_ns = 0};
  const bench_task_t task = {.func = run_wake, .arg = &work};
  session_arm(session, 1);
  const int cpu = sched_getcpu();
  const uint64_t push_ns = clock_now_ns();
  session->backend->push(session->pool, &task);
  while (atomic_load(&work.start_ns) == 0)
    ;
  session->backend->wait(session->pool);
  if (!work.on_worker) {
    report_error(session->report, "the push ran the task itself");
    return false;
  }
  const uint64_t took_ns = atomic_load(&work.start_ns) - push_ns;
  series->latency_ns[series->starts++] = took_ns;
  if (work.cpu != cpu)
    series->other_cpu_ns[series->other_cpu_starts++] = took_ns;
  return true;
}

void measure_wake(session_t *session)
{
  const request_t *const request = session->request;
  report_t *const report = session->report;
  const uint32_t starts = request->warm_slots + request->slots;
  wake_series_t series = {.latency_ns = allot(starts, sizeof(uint64_t)),
                          .other_cpu_ns = allot(starts, sizeof(uint64_t))};
  for (uint32_t i = 0; i < starts; i++) {
    if (i == request->warm_slots)
      series.starts = series.other_cpu_starts = 0;
    clock_sleep_until(clock_now_ns() + request->idle_us * 1000);
    if (!wake_once(session, &series))
      return;
  }
  report_count(report, "slots", series.starts);
  report_percentiles(report, "", series.latency_ns, series.starts);
  report_count(report, "other_cpu_starts", series.other_cpu_starts);
  if (series.other_cpu_starts)
    report_number(report, "other_cpu_p50_us",
                  percentile_us(series.other_cpu_ns, series.other_cpu_starts, 50));
}

static void run_idle_work(void *arg)
{
  (void)arg;
  busy_work(IDLE_TASK_NS);
  thread_count_task();
}

void measure_idle(session_t *session)
{
  const bench_task_t task = {.func = run_idle_work};
  for (uint32_t burst = 0; burst < IDLE_BURSTS; burst++) {
    session_arm(session, IDLE_BURST_TASKS);
    for (uint32_t i = 0; i < IDLE_BURST_TASKS; i++)
      session->backend->push(session->pool, &task);
    session->backend->wait(session->pool);
  }
  clock_sleep_until(clock_now_ns() + session->request->idle_us * 1000);
  const usage_t cost = usage_asleep(IDLE_WINDOW_NS);
  report_number(session->report, "wall_s", cost.wall_s);
  report_number(session->report, "cpu_s", cost.cpu_s);
  report_count(session->report, "ctx_switches", cost.ctx_switches);
}
