// SPDX-License-Identifier: BSD-3-Clause
// One burst, and how late each CPU was for it.
//
// Lateness: a burst of n tasks wants min(workers, cores - 1, n - 1) CPUs beside the producer's. For each of
// them the time from the first push to its first task, the mean over them; one that got no task counts with
// the whole makespan. No lag is longer than the tasks take one after the other: what is beyond is no waking,
// but another thread on the producer's own CPU. CPUs, not workers: a worker that the kernel lets run on the
// producer's own CPU starts at once, but nothing is gained. A burst of one task, which wants no other CPU, is
// as late as that task.
#include <sched.h>

#include "bench.h"
#include "clock.h"

static void run_timed(void *arg)
{
  timed_task_t *const work = arg;
  work->worker = ws_worker_index();
  work->cpu = sched_getcpu();
  work->start_ns = busy_work(work->work_ns);
}

/// What is known of a burst when it is over.
typedef struct {
  uint32_t tasks;
  int32_t cpu; ///< that it was pushed from
  uint64_t work_ns; ///< of all tasks
  uint64_t begin_ns, end_ns;
} burst_end_t;

typedef struct {
  uint64_t mean_ns, last_ns;
} lags_t;

/// The first start of @p starter is the earliest of its tasks'. Kept sorted, for the lists are short.
static uint32_t add_start(bench_run_t *bench, uint32_t count, int32_t starter, uint64_t start_ns)
{
  uint32_t at = 0;
  while (at < count && bench->starters[at] != starter)
    at++;
  if (at == count) {
    if (count == bench->cores + bench->question->work.workers)
      return count;
    bench->starters[count] = starter;
    bench->starts_ns[count++] = start_ns;
  } else if (start_ns < bench->starts_ns[at]) {
    bench->starts_ns[at] = start_ns;
  }
  for (; at > 0 && bench->starts_ns[at] < bench->starts_ns[at - 1]; at--) {
    const uint64_t earlier_ns = bench->starts_ns[at];
    const int32_t earlier = bench->starters[at];
    bench->starts_ns[at] = bench->starts_ns[at - 1];
    bench->starters[at] = bench->starters[at - 1];
    bench->starts_ns[at - 1] = earlier_ns;
    bench->starters[at - 1] = earlier;
  }
  return count;
}

/// The @p wanted earliest of the @p count starts.
static lags_t lags_of(const bench_run_t *bench, const burst_end_t *burst, uint32_t count, uint32_t wanted)
{
  lags_t lags = {.last_ns = 0};
  uint64_t sum_ns = 0;
  for (uint32_t i = 0; i < wanted; i++) {
    const uint64_t lag_ns = (i < count ? bench->starts_ns[i] : burst->end_ns) - burst->begin_ns;
    lags.last_ns = lag_ns < burst->work_ns ? lag_ns : burst->work_ns;
    sum_ns += lags.last_ns;
  }
  lags.mean_ns = sum_ns / wanted;
  return lags;
}

static void note_lags(bench_run_t *bench, const burst_end_t *burst, bool first, slot_times_t *times)
{
  const timed_task_t *const work = bench->work;
  const uint32_t tasks = burst->tasks;
  const uint32_t further = tasks - 1 < bench->helpers ? tasks - 1 : bench->helpers;
  const uint32_t wanted = further ? further : 1;
  uint32_t cpus = 0, workers = 0;
  for (uint32_t i = 0; i < tasks; i++)
    times->worker_work_ns += work[i].worker >= 0 ? work[i].work_ns : 0;
  for (uint32_t i = 0; i < tasks; i++)
    if (work[i].cpu != burst->cpu || further == 0)
      cpus = add_start(bench, cpus, work[i].cpu, work[i].start_ns);
  const lags_t by_cpu = lags_of(bench, burst, cpus, wanted);
  times->lateness_ns += by_cpu.mean_ns;
  if (!first)
    return;
  times->last_lag_ns = by_cpu.last_ns;
  for (uint32_t i = 0; i < tasks; i++)
    if (work[i].worker >= 0)
      workers = add_start(bench, workers, work[i].worker, work[i].start_ns);
  times->worker_lag_ns = lags_of(bench, burst, workers, wanted).mean_ns;
  times->first_lag_ns = lags_of(bench, burst, workers, 1).mean_ns;
}

void burst_run(bench_run_t *bench, const phase_t *phase, bool first, slot_times_t *times)
{
  burst_end_t burst = {.tasks = phase->task_count};
  for (uint32_t i = 0; i < phase->task_count; i++) {
    bench->work[i].work_ns = bench->plan.task_ns[phase->first_task + i];
    burst.work_ns += bench->work[i].work_ns;
  }
  ws_group_t group;
  ws_group_init(&group, phase->task_count);
  burst.cpu = sched_getcpu();
  burst.begin_ns = clock_now_ns();
  for (uint32_t i = 0; i < phase->task_count; i++)
    ws_pool_push(bench->pool, (ws_task_t){.func = run_timed, .arg = &bench->work[i], .group = &group});
  ws_group_wait(&group, bench->pool);
  burst.end_ns = clock_now_ns();
  note_lags(bench, &burst, first, times);
}
