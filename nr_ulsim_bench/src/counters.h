// SPDX-License-Identifier: BSD-3-Clause
/// @file counters.h
/// What the CPU counts while this process's threads compute, where the kernel allows it: instructions,
/// cycles, branches, and on Intel CPUs from Ice Lake on pipeline slots by what became of them (topdown).
#ifndef BENCH_COUNTERS_H
#define BENCH_COUNTERS_H

#include "report.h" // IWYU pragma: export

#define COUNTERS 9u

/// Of a counter: its value, the time for which it was asked for, and that in which the CPU counted.
typedef struct {
  uint64_t value, enabled_ns, running_ns;
} counter_reading_t;

typedef struct {
  int fd[COUNTERS]; ///< -1 = it cannot be had
  counter_reading_t begin[COUNTERS], end[COUNTERS];
  int error; ///< why there are no instructions or cycles
} counters_t;

/// @brief Count from now on, for the calling thread and all threads that it and they create.
void counters_open(counters_t *counters);
void counters_begin(counters_t *counters);
void counters_end(counters_t *counters);

/// @brief Report what was counted between begin and end: "ipc", instructions a cycle; of the branches how
/// many percent were "branch_misses"; and of the slots how many percent were "retiring", "bad_speculation",
/// "frontend_bound" and "backend_bound". Where instructions or cycles cannot be counted, "counters_missing"
/// has the reason.
void counters_report(const counters_t *counters, report_t *report);

#endif
