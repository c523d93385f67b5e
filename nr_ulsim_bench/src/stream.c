// SPDX-License-Identifier: BSD-3-Clause
// A stream: one task a symbol, pushed by a thread that polls its network card, and never joined. No thread
// helps, so the time until a worker starts is all there is.
#include "clock.h"
#include "memory.h"
#include "session.h"
#include "threads.h"
#include "usage.h"

/// The arguments of such tasks lie in a ring of so many: a task that starts later than that reads another's.
#define RING_TASKS 128u

typedef struct stream_s stream_t;

typedef struct {
  _Alignas(64) uint64_t work_ns;
  uint64_t push_ns, start_ns;
  stream_t *stream; ///< of which it pushes a fan; NULL = none
} stream_task_t;

struct stream_s {
  session_t *session;
  stream_task_t *work; ///< of the symbols, then of their fans
  bench_task_t *tasks; ///< point to work
  uint64_t *lag_ns;
  uint32_t count; ///< symbols
};

static uint32_t fan_of(const stream_t *stream)
{
  return stream->session->request->fan;
}

static void push_fan(const stream_task_t *work)
{
  stream_t *const stream = work->stream;
  const uint32_t first = stream->count + (uint32_t)(work - stream->work) * fan_of(stream);
  for (uint32_t i = first; i < first + fan_of(stream); i++) {
    stream->work[i].push_ns = clock_now_ns();
    stream->session->backend->push(stream->session->pool, &stream->tasks[i]);
  }
}

static void run_symbol(void *arg)
{
  stream_task_t *const work = arg;
  work->start_ns = busy_work(work->work_ns);
  if (work->stream)
    push_fan(work);
  thread_count_task();
}

/// Push the tasks first .. first+count-1, one a period, without sleeping. A producer that lost its CPU does
/// not make up for it: a burst is another case.
/// @return when the next one is due
static uint64_t push_symbols(stream_t *stream, uint32_t first, uint32_t count, uint64_t due_ns)
{
  const uint64_t period_ns = stream->session->request->period_ns;
  const bench_backend_t *const backend = stream->session->backend;
  for (uint32_t i = first; i < first + count; i++) {
    uint64_t now_ns = clock_now_ns();
    while (now_ns < due_ns)
      now_ns = clock_now_ns();
    if (now_ns - due_ns > period_ns)
      due_ns = now_ns;
    stream->work[i].push_ns = now_ns;
    backend->push(stream->session->pool, &stream->tasks[i]);
    due_ns += period_ns;
  }
  return due_ns;
}

/// @return how many of the tasks started when their argument in a ring would have been another's
static uint32_t count_overtaken(const stream_t *stream, uint32_t first, uint32_t count)
{
  uint32_t overtaken = 0;
  for (uint32_t i = first; i < first + count && i + RING_TASKS < stream->count; i++)
    overtaken += stream->work[i].start_ns > stream->work[i + RING_TASKS].push_ns;
  return overtaken;
}

static void report_lags(stream_t *stream, const char *prefix, uint32_t first, uint32_t count)
{
  for (uint32_t i = 0; i < count; i++) {
    const stream_task_t *const work = &stream->work[first + i];
    stream->lag_ns[i] = work->start_ns - work->push_ns;
  }
  report_percentiles(stream->session->report, prefix, stream->lag_ns, count);
}

static void run_stream(stream_t *stream)
{
  const request_t *const request = stream->session->request;
  report_t *const report = stream->session->report;
  const uint32_t steady = request->warm_slots, fan = request->fan;
  const uint64_t before_tasks = threads_run_tasks();
  const uint32_t tasks = session_stream_tasks(request);
  session_arm(stream->session, tasks);
  const uint64_t due_ns = push_symbols(stream, 0, steady, clock_now_ns());
  const usage_t begin = usage_now(USAGE_PROCESS);
  push_symbols(stream, steady, request->slots, due_ns);
  const usage_t cost = usage_since(begin, USAGE_PROCESS);
  stream->session->backend->wait(stream->session->pool); // only to end; what it waits for does not count
  if (!session_check_tasks(stream->session, before_tasks + tasks))
    return;
  report_number(report, "wall_s", cost.wall_s);
  report_number(report, "cpu_s", cost.cpu_s);
  report_count(report, "slots", request->slots);
  report_number(report, "work_s", (double)(stream->work[0].work_ns * request->slots * (1 + fan)) * 1e-9);
  report_count(report, "overtaken", count_overtaken(stream, steady, request->slots));
  report_lags(stream, "lag", steady, request->slots);
  if (fan > 0)
    report_lags(stream, "fan_lag", stream->count + steady * fan, request->slots * fan);
}

void measure_stream(session_t *session)
{
  const request_t *const request = session->request;
  const uint32_t tasks = session_stream_tasks(request);
  stream_t stream = {.session = session, .count = tasks / (1 + request->fan)};
  if (request->fan > 0 && !session->backend->nested_push) {
    report_error(session->report, "n/a: a task of this pool cannot push");
    return;
  }
  stream.work = allot(tasks, sizeof stream.work[0]);
  stream.tasks = allot(tasks, sizeof stream.tasks[0]);
  stream.lag_ns = allot(tasks, sizeof stream.lag_ns[0]);
  for (uint32_t i = 0; i < tasks; i++) {
    stream.work[i].work_ns = request->bursts[0].work_ns;
    stream.work[i].stream = i < stream.count && request->fan > 0 ? &stream : NULL;
    stream.tasks[i] = (bench_task_t){.func = run_symbol, .arg = &stream.work[i]};
  }
  run_stream(&stream);
}
