// SPDX-License-Identifier: BSD-3-Clause
// The coliseum: as many tasks as the pool can carry, pushed one by one by the producer, then one join.
#include <string.h>

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
/// Tasks of unlike length.
#define KINDS 3u

/// A task: fib(n), so many times.
typedef struct {
  uint32_t n, times;
} fib_task_t;

/// Which kind of task comes next: one after the other, or by chance.
typedef struct {
  bool by_chance;
  slot_arrivals_t chance;
  uint32_t pushed[KINDS];
} order_t;

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

static void run_fib(void *task_arg)
{
  const fib_task_t *const task = task_arg;
  for (uint32_t i = 0; i < task->times; i++)
    sink = fib(task->n);
  thread_count_task();
}

static uint32_t next_kind(order_t *order, uint32_t kind)
{
  if (order->by_chance)
    kind = (uint32_t)(arrivals_draw(&order->chance) * KINDS);
  else
    kind = kind + 1 == KINDS ? 0 : kind + 1;
  order->pushed[kind]++;
  return kind;
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

/// @param order  of kinds of tasks; NULL = each task is pushed once
/// @return number of tasks that the producer ran inside its pushes
static uint64_t push_and_wait(session_t *session, const bench_task_t *tasks, order_t *order, uint32_t count)
{
  const uint64_t before_tasks = thread_slot()->run_tasks;
  session_arm(session, count);
  for (uint32_t i = 0, kind = 0; i < count; i++) {
    kind = order ? next_kind(order, kind) : i;
    session->backend->push(session->pool, &tasks[kind]);
  }
  const uint64_t inline_tasks = thread_slot()->run_tasks - before_tasks;
  session->backend->wait(session->pool);
  return inline_tasks;
}

/// Values at the begin of a contest.
typedef struct {
  usage_t begin;
  uint64_t migrations;
  bool counts_migrations;
} contest_t;

static contest_t contest_begin(session_t *session)
{
  contest_t contest = {0};
  contest.counts_migrations = usage_migrations(&contest.migrations);
  counters_begin(&session->counters);
  contest.begin = usage_now(USAGE_PROCESS);
  return contest;
}

/// @return what it cost until now
static usage_t contest_end(session_t *session, contest_t contest)
{
  const usage_t cost = usage_since(contest.begin, USAGE_PROCESS);
  uint64_t migrations = 0;
  counters_end(&session->counters);
  if (contest.counts_migrations && usage_migrations(&migrations))
    report_count(session->report, "migrations", migrations - contest.migrations);
  return cost;
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
  report_count(report, "ctx_involuntary", cost.involuntary_switches);
  report_count(report, "page_faults", cost.page_faults);
  counters_report(&session->counters, report);
  report_count(report, "tasks", tasks);
  report_number(report, "ns_per_task", cost.wall_s * 1e9 / (double)tasks);
  report_number(report, "work_s", work_ns * 1e-9);
}

/// The task records are few, shared by all pushes, since a task only reads them.
static void measure_flat(session_t *session)
{
  static fib_task_t of[][KINDS] = {[WORK_EMPTY] = {{0, 0}},
                                   [WORK_FIB19] = {{19, 1}, {19, 1}, {19, 1}},
                                   [WORK_FIB17_19] = {{17, 1}, {18, 1}, {19, 1}},
                                   [WORK_FIB19_X1_3] = {{19, 1}, {19, 2}, {19, 3}}};
  const work_t work = session->request->work;
  const uint32_t count = session->request->tasks, warm_count = count / 20 + 1;
  const uint64_t before_tasks = threads_run_tasks();
  bench_task_t tasks[KINDS];
  double work_ns = 0, task_ns[KINDS] = {0};
  for (uint32_t i = 0; i < KINDS; i++) {
    tasks[i] = (bench_task_t){.func = work == WORK_EMPTY ? run_empty : run_fib, .arg = &of[work][i]};
    task_ns[i] = work == WORK_EMPTY ? 0 : fib_ns(of[work][i].n) * of[work][i].times;
  }
  order_t order = {.by_chance = work == WORK_FIB19_X1_3, .chance = session->request->arrivals};
  push_and_wait(session, tasks, &order, warm_count);
  memset(order.pushed, 0, sizeof order.pushed);
  const contest_t contest = contest_begin(session);
  const uint64_t inline_tasks = push_and_wait(session, tasks, &order, count);
  const usage_t cost = contest_end(session, contest);
  uint64_t repeats = 0;
  for (uint32_t i = 0; i < KINDS; i++) {
    work_ns += task_ns[i] * order.pushed[i];
    repeats += (uint64_t)of[work][i].times * order.pushed[i];
  }
  if (!session_check_tasks(session, before_tasks + warm_count + count))
    return;
  report_contest(session, cost, count, work_ns);
  report_count(session->report, "inline_tasks", inline_tasks);
  report_count(session->report, "repeats", repeats);
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
  push_and_wait(session, tasks, NULL, 1);
  const contest_t contest = contest_begin(session);
  push_and_wait(session, tasks, NULL, count);
  const usage_t cost = contest_end(session, contest);
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
