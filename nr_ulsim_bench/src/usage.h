// SPDX-License-Identifier: BSD-3-Clause
/// @file usage.h
/// What a stretch of the measurement cost: wall time, CPU time, context switches and page faults, of the
/// process or the calling thread; migrations of the process's threads.
#ifndef BENCH_USAGE_H
#define BENCH_USAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

typedef enum { USAGE_PROCESS, USAGE_THREAD } usage_of_t;

typedef struct {
  double wall_s;
  double cpu_s;
  double user_s, system_s; ///< to the kernel's tick, where it counts so
  uint64_t ctx_switches; ///< voluntary and involuntary
  uint64_t involuntary_switches;
  uint64_t page_faults;
} usage_t;

/// @return what a CPU-time clock shows; 0 = it cannot be read
double usage_clock_s(clockid_t clock);

/// @return readings since some fixed moment; meaningful as differences
usage_t usage_now(usage_of_t of);

usage_t usage_since(usage_t begin, usage_of_t of);

/// @brief Sum up how often the threads that this process has now were moved to another CPU.
/// @return false: the kernel does not count it
bool usage_migrations(uint64_t *migrations);

/// @brief Sleep for so long. @return what the process's other threads used meanwhile: the caller wakes up to
/// look, which is no fault of a pool, so its own part is taken out
usage_t usage_asleep(uint64_t ns);

#endif
