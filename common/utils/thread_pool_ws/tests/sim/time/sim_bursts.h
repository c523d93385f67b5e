// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_bursts.h
/// Bursts on a simulated machine, pushed and joined as the benchmark's slots are.
#ifndef SIM_BURSTS_H
#define SIM_BURSTS_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#include "../../../include/ws_ledger.h" // IWYU pragma: export
#include "arrivals.h" // IWYU pragma: export
#include "bench_backend.h" // IWYU pragma: export
#include "slot_plan.h" // IWYU pragma: export

#define SIM_PRODUCERS_MAX 64u

typedef enum { SIM_OTHER, SIM_RR, SIM_RR_ALL } sim_classes_t;

/// A task computes longer; all do; there are twice as many; a task waits for a lock, for another thread, for
/// a timer, for another pool; the producer computes between two pushes; a second one has bursts of its own,
/// in the same pool or in another; the process is stopped.
typedef enum {
  SIM_CALM,
  SIM_LONG_TASK,
  SIM_ALL_LONGER,
  SIM_MORE_TASKS,
  SIM_MUTEX,
  SIM_READ,
  SIM_SLEEP,
  SIM_OTHER_POOL,
  SIM_SERIAL,
  SIM_SECOND_PRODUCER,
  SIM_POOL_BESIDE,
  SIM_STOPS
} sim_noise_t;

typedef struct {
  const bench_backend_t *pool;
  uint32_t workers;
  bool pinned; ///< worker i to CPU i
  sim_classes_t classes; ///< as in the benchmark: all normal; workers real-time; all real-time
  uint32_t producers; ///< each pushes and joins slots of its own; more than one: the ws pool only
  slot_plan_t plan;
  uint32_t nested; ///< > 0: a task of the plan forks to this depth (fib), and each leaf takes what it should
  slot_arrivals_t arrivals; ///< of the first; the seed of each further one is the next number
  double period_us; ///< between two slots of a producer; 0 = the next one follows at once
  uint32_t roam; ///< > 0: after so many slots the kernel moves the producer to the next CPU
  double host_on_us,
      host_off_us; ///< the host takes each CPU so long after so long (exponential means); 0 = no
  bool stolen; ///< the kernel does not see that: threads that wait for such a CPU stay
  sim_noise_t noise; ///< what makes bursts late
  uint32_t every; ///< of so many phases one has it, by chance
  double noise_us; ///< how long it lasts
  double quota_later; ///< > 0: CPUs' worth of time of the control group, from the middle of the warm-up on
  bool poll; ///< a real-time thread of the workers' priority polls a clock: it takes a CPU
  uint32_t bursts, warm; ///< slots of a producer that are measured; before those, not
} sim_bursts_t;

/// Of all slots that are measured.
typedef struct {
  double *makespan_us; ///< first push to return of the last join, with the producer's serial work
  double *start_us; ///< first push to the first task that starts on a worker; < 0: none did
  double *full_us; ///< first push of the last phase until so many tasks have started as can run at once
  double *gap_us; ///< since the slot before began
  uint32_t slots;
  double work_us, bound_us, tasks; ///< sums over the slots; bound: on all CPUs
  double whole_us; ///< the same sum in whole tasks, on one CPU for each thread that runs tasks
  double busy_us; ///< CPU time of all threads but the host's
  double wakes; ///< threads woken by futex calls
  double preempted; ///< times that a producer lost its CPU
  double wall_us;
  ws_ledger_t ledger; ///< of the ws pool: bursts
} sim_series_t;

/// @return false: it did not end within a minute of virtual time
bool sim_bursts_run(const sim_bursts_t *wanted, sim_series_t *series);

#endif
