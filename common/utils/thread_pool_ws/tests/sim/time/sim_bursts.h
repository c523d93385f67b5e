// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_bursts.h
/// Bursts on a simulated machine, as the benchmark's slots are: what they take.
#ifndef SIM_BURSTS_H
#define SIM_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

#include "bench_backend.h"

#define SIM_PHASES_MAX 8u
#define SIM_RECORDED_MAX 65536u

typedef enum { SIM_OTHER, SIM_RR, SIM_RR_ALL } sim_classes_t;

typedef struct {
  const bench_backend_t *pool;
  uint32_t workers;
  bool hot;
  sim_classes_t classes; ///< as in the benchmark: all normal; workers real-time; all real-time
  uint32_t producers; ///< threads that push, each with a pool's lane of its own; the others join, too
  uint32_t phases; ///< of a slot, each joined before the next begins
  uint32_t count[SIM_PHASES_MAX]; ///< tasks
  double us[SIM_PHASES_MAX]; ///< each takes
  uint32_t nested; ///< > 0: instead of that, one task that forks to this depth (fib)
  double period_us; ///< between two slots; 0 = the next one follows at once
  uint32_t bursts, warm; ///< measured; before that, not
} sim_bursts_t;

typedef struct {
  double p50_us, p99_us; ///< first push to return of the last join
  double bound_us; ///< work divided by CPUs, and no less than a task
  double whole_us; ///< the same in whole tasks, on CPUs that take part: one for each thread that runs tasks
  double lag_us; ///< median time from the first push until so many tasks run as can at once
  double cpu_per_work; ///< CPU time of all threads divided by the work
  double wakes; ///< futex calls that woke somebody, a slot
  double tasks_per_s;
} sim_bursts_result_t;

/// @return false: it did not end within a minute of virtual time
bool sim_bursts_run(const sim_bursts_t *wanted, sim_bursts_result_t *result);

#endif
