// SPDX-License-Identifier: BSD-3-Clause
/// @file counters.h
/// The kernel's performance counters of this process, all its threads included: what `perf stat` shows. Where
/// a counter cannot be had, for example in a virtual machine without a PMU, the report leaves it out.
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include "report.h"

#define COUNTERS 5

typedef struct {
  int fd[COUNTERS]; ///< -1 = this counter cannot be had
  int error; ///< why the CPU's own counters cannot be had; 0 = they can
  bool user_only; ///< the kernel's instructions and cycles are not allowed to be counted
} counters_t;

/// @brief Open the counters, stopped. Threads that the calling thread creates later are counted, too; those
/// that exist already are not.
void counters_open(counters_t *counters);

/// @brief Count from now on, from zero.
void counters_start(counters_t *counters);

/// @brief Stop, and report perf_task_clock_s, perf_ctx_switches, perf_migrations, instructions and cycles, as
/// far as they could be had.
void counters_stop(counters_t *counters, report_t *report);

#endif
