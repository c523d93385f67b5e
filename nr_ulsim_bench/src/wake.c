// SPDX-License-Identifier: BSD-3-Clause
// How long an idle pool takes to start a task, and what it costs while it is idle.
#include <stdatomic.h>
#include <stdlib.h>

#include "clock.h"
#include "session.h"
#include "threads.h"
#include "usage.h"

/// A task that no worker has started after this will not be started before the producer helps.
#define START_NS_MAX UINT64_C(20000000)
/// The work before an idle check, and the window of the check itself.
#define IDLE_BURSTS 20u
#define IDLE_TASK_NS 20000u
#define IDLE_WINDOW_NS UINT64_C(200000000)

typedef struct {
  _Alignas(64) _Atomic uint64_t start_ns;
  bool on_worker;
} wake_task_t;

static void run_wake(void *arg)
{
  wake_task_t *const task = arg;
  task->on_worker = thread_slot()->worker;
  atomic_store(&task->start_ns, clock_now_ns());
  thread_count_task();
}

/// @return from the push to the start of the task in ns; 0 after report_error()
static uint64_t wake_once(session_t *session)
{
  wake_task_t work = {.start_ns = 0};
  const bench_task_t task = {.func = run_wake, .arg = &work};
  session_arm(session, 1);
  const uint64_t push_ns = clock_now_ns();
  session->backend->push(session->pool, &task);
  while (atomic_load(&work.start_ns) == 0 && clock_now_ns() - push_ns < START_NS_MAX)
    ;
  const bool started = atomic_load(&work.start_ns) != 0;
  session->backend->wait(session->pool);
  if (!started || !work.on_worker) {
    report_error(session->report, started ? "the push ran the task itself"
                                          : "no worker started the task before the producer helped");
    return 0;
  }
  return atomic_load(&work.start_ns) - push_ns;
}

void measure_wake(session_t *session)
{
  const request_t *const request = session->request;
  uint64_t *const latency_ns = calloc(request->slots, sizeof latency_ns[0]);
  usage_t begin = usage_now(USAGE_PROCESS);
  for (uint32_t i = 0; latency_ns && i < request->warm_slots + request->slots; i++) {
    if (i == request->warm_slots)
      begin = usage_now(USAGE_PROCESS);
    clock_sleep_until(clock_now_ns() + request->idle_us * 1000);
    const uint64_t took_ns = wake_once(session);
    if (took_ns == 0) {
      free(latency_ns);
      return;
    }
    if (i >= request->warm_slots)
      latency_ns[i - request->warm_slots] = took_ns;
  }
  const usage_t cost = usage_since(begin, USAGE_PROCESS);
  report_number(session->report, "wall_s", cost.wall_s);
  report_number(session->report, "cpu_s", cost.cpu_s);
  report_count(session->report, "ctx_switches", cost.ctx_switches);
  report_count(session->report, "slots", request->slots);
  report_percentiles(session->report, "", latency_ns, request->slots);
  free(latency_ns);
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
  // The producer wakes up to look, which is no fault of the pool: its own part is taken out.
  const usage_t begin = usage_now(USAGE_PROCESS), begin_own = usage_now(USAGE_THREAD);
  clock_sleep_until(clock_now_ns() + IDLE_WINDOW_NS);
  const usage_t own = usage_since(begin_own, USAGE_THREAD), cost = usage_since(begin, USAGE_PROCESS);
  report_number(session->report, "wall_s", cost.wall_s);
  report_number(session->report, "cpu_s", cost.cpu_s > own.cpu_s ? cost.cpu_s - own.cpu_s : 0);
  report_count(session->report, "ctx_switches", cost.ctx_switches - own.ctx_switches);
}
