// SPDX-License-Identifier: BSD-3-Clause
// The coliseum: as many tasks as the pool can carry, pushed one by one by the producer, then one join.
#include "clock.h"
#include "memory.h"
#include "session.h"
#include "threads.h"
#include "usage.h"
#include "work.h"

/// The nested work: fib by tasks down to the cut-off, below it in one call.
#define NESTED_ROOT 24
#define NESTED_CUTOFF 12
#define CALIBRATION_REPEATS 30

typedef struct {
  uint32_t first, second, third; ///< fib of these, one after the other; 0 = nothing
} fib_task_t;

typedef struct {
  session_t *session;
  uint32_t n;
  uint64_t result;
} nested_t;

/// Where results go, so that the compiler cannot drop the work.
static _Thread_local volatile uint64_t sink;

static void run_empty(void *arg)
{
  (void)arg;
  thread_count_task();
}

static void run_fib(void *arg)
{
  const fib_task_t *const task = arg;
  uint64_t sum = fib(task->first);
  if (task->second)
    sum += fib(task->second);
  if (task->third)
    sum += fib(task->third);
  sink = sum;
  thread_count_task();
}

static void run_nested(void *arg)
{
  nested_t *const self = arg;
  if (self->n <= NESTED_CUTOFF) {
    self->result = fib(self->n);
    return;
  }
  nested_t child = {.session = self->session, .n = self->n - 1};
  nested_t own = {.session = self->session, .n = self->n - 2};
  const bench_task_t child_task = {.func = run_nested, .arg = &child};
  const bench_task_t own_task = {.func = run_nested, .arg = &own};
  self->session->backend->fork_join(self->session->pool, &child_task, &own_task);
  self->result = child.result + own.result;
}

static void run_nested_root(void *arg)
{
  run_nested(arg);
  thread_count_task();
}

/// @return number of tasks that run_nested() spawns below @p n
static uint32_t nested_spawns(uint32_t n)
{
  return n <= NESTED_CUTOFF ? 0 : 1 + nested_spawns(n - 1) + nested_spawns(n - 2);
}

/// @return shortest of several runs: what the CPU can do undisturbed
static double fib_ns(uint32_t n)
{
  uint64_t best_ns = UINT64_MAX;
  for (uint32_t i = 0; i < CALIBRATION_REPEATS; i++) {
    const uint64_t begin_ns = clock_now_ns();
    sink = fib(n);
    const uint64_t took_ns = clock_now_ns() - begin_ns;
    best_ns = took_ns < best_ns ? took_ns : best_ns;
  }
  return (double)best_ns;
}

void measure_calibration(report_t *report)
{
  report_number(report, "fib17_ns", fib_ns(17));
  report_number(report, "fib18_ns", fib_ns(18));
  report_number(report, "fib19_ns", fib_ns(19));
  report_number(report, "nested_ns", fib_ns(NESTED_ROOT));
}

/// The task records of a work: few, shared by all pushes, since a task only reads them.
typedef struct {
  bench_task_t tasks[3];
  double work_ns; ///< of a task, on average
} contest_t;

static contest_t make_contest(work_t work)
{
  static fib_task_t fibs[][3] = {[WORK_EMPTY] = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}},
                                 [WORK_FIB19] = {{19, 0, 0}, {19, 0, 0}, {19, 0, 0}},
                                 [WORK_FIB17_19] = {{17, 0, 0}, {18, 0, 0}, {19, 0, 0}},
                                 [WORK_FIB19_X1_3] = {{19, 0, 0}, {19, 19, 0}, {19, 19, 19}}};
  const double ns_17_19 = (fib_ns(17) + fib_ns(18) + fib_ns(19)) / 3, ns_19 = fib_ns(19);
  const double work_ns[] = {
      [WORK_EMPTY] = 0, [WORK_FIB19] = ns_19, [WORK_FIB17_19] = ns_17_19, [WORK_FIB19_X1_3] = 2 * ns_19};
  contest_t contest = {.work_ns = work_ns[work]};
  for (uint32_t i = 0; i < 3; i++)
    contest.tasks[i] =
        (bench_task_t){.func = work == WORK_EMPTY ? run_empty : run_fib, .arg = &fibs[work][i]};
  return contest;
}

/// @return number of tasks that the producer ran inside its pushes
static uint64_t push_and_wait(session_t *session, const bench_task_t *tasks, uint32_t kinds, uint32_t count)
{
  const uint64_t before_tasks = thread_slot()->run_tasks;
  session_arm(session, count);
  for (uint32_t i = 0, kind = 0; i < count; i++) {
    session->backend->push(session->pool, &tasks[kind]);
    kind = kind + 1 == kinds ? 0 : kind + 1;
  }
  const uint64_t inline_tasks = thread_slot()->run_tasks - before_tasks;
  session->backend->wait(session->pool);
  return inline_tasks;
}

/// @param tasks  that took part, spawned ones included
static void report_contest(session_t *session, usage_t cost, uint64_t tasks, double work_ns)
{
  report_t *const report = session->report;
  report_number(report, "wall_s", cost.wall_s);
  report_number(report, "cpu_s", cost.cpu_s);
  report_number(report, "user_s", cost.user_s);
  report_number(report, "system_s", cost.system_s);
  report_count(report, "ctx_switches", cost.ctx_switches);
  report_count(report, "involuntary_switches", cost.involuntary_switches);
  report_count(report, "tasks", tasks);
  report_number(report, "ns_per_task", cost.wall_s * 1e9 / (double)tasks);
  report_number(report, "work_s", work_ns * 1e-9);
  report_number(report, "ideal_s", work_ns * 1e-9 / session->cores);
}

static void measure_flat(session_t *session)
{
  const uint32_t count = session->request->tasks;
  const uint32_t warm_count = count / 20 + 1;
  const uint64_t before_tasks = threads_run_tasks();
  const contest_t contest = make_contest(session->request->work);
  push_and_wait(session, contest.tasks, 3, warm_count);
  const usage_t begin = usage_now(USAGE_PROCESS);
  const uint64_t inline_tasks = push_and_wait(session, contest.tasks, 3, count);
  const usage_t cost = usage_since(begin, USAGE_PROCESS);
  if (!session_check_tasks(session, before_tasks + warm_count + count))
    return;
  report_contest(session, cost, count, contest.work_ns * count);
  report_count(session->report, "inline_tasks", inline_tasks);
}

static void measure_nested(session_t *session)
{
  const uint32_t count = session->request->tasks;
  nested_t *const roots = allot(count, sizeof roots[0]);
  bench_task_t *const tasks = allot(count, sizeof tasks[0]);
  for (uint32_t i = 0; i < count; i++) {
    roots[i] = (nested_t){.session = session, .n = NESTED_ROOT};
    tasks[i] = (bench_task_t){.func = run_nested_root, .arg = &roots[i]};
  }
  const double work_ns = fib_ns(NESTED_ROOT) * count;
  push_and_wait(session, tasks, 1, 1);
  const usage_t begin = usage_now(USAGE_PROCESS);
  push_and_wait(session, tasks, count, count);
  const usage_t cost = usage_since(begin, USAGE_PROCESS);
  const uint64_t expected = fib(NESTED_ROOT);
  report_contest(session, cost, count * (UINT64_C(1) + nested_spawns(NESTED_ROOT)), work_ns);
  for (uint32_t i = 0; i < count; i++)
    if (roots[i].result != expected)
      report_error(session->report, "nested fib(%d) gave %llu instead of %llu", NESTED_ROOT,
                   (unsigned long long)roots[i].result, (unsigned long long)expected);
}

void measure_coliseum(session_t *session)
{
  if (session->request->work != WORK_NESTED)
    measure_flat(session);
  else if (session->backend->fork_join)
    measure_nested(session);
  else
    report_error(session->report, "n/a: this pool cannot join inside a task");
}
