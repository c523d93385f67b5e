// SPDX-License-Identifier: BSD-3-Clause
/// @file bench.h
/// The one pool of a measurement, what it runs, and one slot of it.
#ifndef PREWAKE_BENCH_H
#define PREWAKE_BENCH_H

#include "arrivals.h"
#include "environment.h"
#include "question.h"
#include "report.h"
#include "slot_plan.h"

/// A task's own cache line: neighbours run on different CPUs.
typedef struct {
  _Alignas(64) uint64_t work_ns;
  uint64_t start_ns;
  int32_t worker; ///< -1 = the producer
  int32_t cpu;
} timed_task_t;

/// Of one slot. The lags are those of its first burst.
typedef struct {
  uint64_t lateness_ns; ///< see burst.c, summed over the bursts of the slot
  uint64_t first_lag_ns; ///< until the first task starts on a worker; none did: the burst's makespan
  uint64_t last_lag_ns; ///< until the last of the wanted CPUs has its first task; as above
  uint64_t worker_lag_ns; ///< mean over the wanted workers, whatever CPU they run on
  uint64_t makespan_ns;
  uint64_t work_ns;
  uint64_t worker_work_ns; ///< what of it workers did
  double bound_ns;
} slot_times_t;

typedef struct {
  const question_t *question;
  const environment_t *environment;
  report_t *report;
  ws_pool_t *pool;
  int32_t *tids; ///< of the workers
  uint32_t cores; ///< CPUs that this process may use
  int32_t cpus[CPU_SETSIZE]; ///< their numbers
  uint32_t helpers; ///< CPUs beside the producer's that can compute: workers and cores allow no more
  slot_plan_t plan;
  uint32_t next_phase; ///< of the plan
  timed_task_t *work; ///< of the tasks of one phase
  uint64_t *starts_ns; ///< room for one for each CPU or worker
  int32_t *starters;
  arrivals_t arrivals;
} bench_run_t;

/// @brief Load the plan, make the pool, give the producer its class and CPU, begin the grid.
/// @param bench  question, environment and report are set
/// @return false when the report says why not
bool bench_open(bench_run_t *bench);

void bench_close(bench_run_t *bench);

bool bench_set_mode(bench_run_t *bench, const spin_mode_t *mode);

/// @brief Have the plan begin with slot @p number, modulo their count.
void bench_seek(bench_run_t *bench, uint64_t number);

/// @brief Sleep until the next slot and run its burst, if it has one.
/// @param late  out: it began late because the one before took too long
/// @return false when the slot has none
bool bench_run_slot(bench_run_t *bench, slot_times_t *times, bool *late);

/// @brief Run super-periods without looking at them.
void bench_run_periods(bench_run_t *bench, uint64_t periods);

// burst.c
void burst_run(bench_run_t *bench, const phase_t *phase, bool first, slot_times_t *times);

// What can be asked, each in a file of its own. They write their answers to standard output.
void measure_compare(bench_run_t *bench);
void measure_step(bench_run_t *bench);
void measure_rest(bench_run_t *bench);
void measure_canary(bench_run_t *bench);

/// @return CPU time of all workers so far
double bench_worker_cpu_s(const bench_run_t *bench);

/// @brief Write the report as one line and empty it.
void bench_answer(report_t *report);

#endif
