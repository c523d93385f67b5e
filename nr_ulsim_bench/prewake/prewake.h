// SPDX-License-Identifier: BSD-3-Clause
/// @file prewake.h
/// ws-prewake: what it is asked, the machine and the radio around the one pool of a measurement, and one slot
/// of it.
#ifndef PREWAKE_H
#define PREWAKE_H

#include "cpus.h" // IWYU pragma: export
#include "report.h" // IWYU pragma: export
#include "request.h" // IWYU pragma: export
#include "slot_plan.h" // IWYU pragma: export
#include "ws_pool.h" // IWYU pragma: export

#define MODES_MAX 64
#define TURNS_MAX 64
#define MODE_CHARS 16
#define PATTERN_CHARS 256
/// Of real-time threads: above normal threads, below the kernel's own.
#define RT_PRIORITY 50

typedef struct {
  char name[MODE_CHARS]; ///< off, auto, fixed:<us>
  ws_spin_t spin;
  uint64_t lead_ns; ///< WS_SPIN_FIXED
  uint32_t turns; ///< in a round
} spin_mode_t;

typedef struct {
  enum { ASK_COMPARE, ASK_STEP } ask;
  request_t work; ///< of it: workers, sched_class, noise, limit_s, bursts, file

  spin_mode_t modes[MODES_MAX];
  uint32_t mode_count;
  uint32_t turns[TURNS_MAX]; ///< of a round: index into modes
  uint32_t turn_count;
  uint32_t cap_percent; ///< spin_cpu_max_percent of all but the fixed leads
  uint32_t spin_price; ///< of the pool

  uint64_t slot_us;
  char pattern[PATTERN_CHARS]; ///< a character a slot: U = a burst may come, D = none
  char next_pattern[PATTERN_CHARS]; ///< ASK_STEP: the one that follows
  uint64_t jitter_us; ///< arrivals lie within that, before or after, of the slot's begin
  int32_t drift_ppm; ///< the radio's clock against this machine's
  uint64_t seed;

  uint64_t warm_ms; ///< in mode auto, before the measurement
  uint64_t measure_ms; ///< all modes together
  uint64_t block_ms; ///< counted time of a mode before it is another's turn

  uint64_t slack_ns; ///< timer slack of the workers
  int32_t dma_latency_us; ///< held in /dev/cpu_dma_latency; -1 = not
  uint32_t quota_percent; ///< of one CPU, by a control group; 0 = none
  uint32_t pin; ///< 1 = the producer on the first CPU, workers on the others
  uint64_t inject_us; ///< each wake of a worker takes that much longer
  uint32_t bimodal_percent; ///< of the wakes take four times inject_us longer
} question_t;

// environment.c: what is different about the machine while one question is answered

typedef struct {
  pid_t noise[REQUEST_NOISE_MAX];
  uint32_t noise_count;
  int latency_fd; ///< -1 = not held
  char group[REQUEST_PATH_CHARS]; ///< folder of the control group; empty = none was made
} environment_t;

/// @brief For the process that outlives the measurement: noise, /dev/cpu_dma_latency, control group.
/// @return false when it cannot be had; then the report says why
bool environment_open(environment_t *environment, const question_t *question, report_t *report);

void environment_close(environment_t *environment);

/// @brief For the measuring process, before it makes the pool: control group, timer slack.
/// @return as environment_open()
bool environment_enter(const environment_t *environment, const question_t *question, report_t *report);

/// @return CPU time in s for which these CPUs were not idle, but for what the noise had: meaningful as a
/// difference, and to within some 10 ms
double environment_busy_s(const environment_t *environment, const cpu_set_t *cpus);

// inject.c makes this machine another one: the linker puts it between the pool and the kernel (--wrap)

/// @brief From now on a worker that has slept computes for @p delay_ns before it goes on, and in
/// @p bimodal_percent of the cases, by chance, for four times as long.
void inject_set(uint64_t delay_ns, uint32_t bimodal_percent, uint64_t seed);

/// @return CPU time that all threads have spent so: no part of what the pool costs
uint64_t inject_cpu_ns(void);

// bench.c

/// A generator of 64 random bits (splitmix64).
typedef struct {
  uint64_t state;
} random_t;

/// @return a number below @p bound
uint64_t random_below(random_t *random, uint64_t bound);

/// When bursts come: on the grid of a radio's slots, by a pattern, with gaps and jitter.
typedef struct {
  const char *pattern;
  uint64_t base_ns; ///< CLOCK_MONOTONIC of slot 0
  double slot_ns; ///< by this machine's clock
  uint64_t slot; ///< the next one; the grid goes on through all modes, so that none begins with a jump
  uint32_t pattern_slots;
  uint32_t pattern_bursts; ///< U slots in it
  random_t random;
} arrivals_t;

/// A task's own cache line: neighbours run on different CPUs.
typedef struct {
  _Alignas(64) uint64_t work_ns;
  uint64_t start_ns;
  bool on_worker;
  int32_t cpu;
} timed_task_t;

/// Of one slot.
typedef struct {
  uint64_t lateness_ns; ///< see bench.c, summed over the bursts of the slot
  uint64_t work_ns;
  uint64_t worker_work_ns; ///< what of it workers did
} slot_times_t;

/// The first task of a CPU.
typedef struct {
  int32_t cpu;
  uint64_t ns;
} start_t;

typedef struct {
  const question_t *question;
  const environment_t *environment;
  report_t *report;
  ws_pool_t *pool;
  cpu_set_t cpus; ///< that this process may use
  uint32_t cores; ///< their number
  uint32_t helpers; ///< CPUs beside the producer's that can compute: workers and cores allow no more
  slot_plan_t plan;
  uint32_t next_phase; ///< of the plan
  timed_task_t *work; ///< of the tasks of one phase
  start_t *starts; ///< room for one for each CPU
  arrivals_t arrivals;
} bench_run_t;

/// @brief Load the plan, make the pool, give the producer its class and CPU, begin the grid some slots from
/// now.
/// @param bench  question, environment and report are set
/// @return false when the report says why not
bool bench_open(bench_run_t *bench);

bool bench_set_mode(bench_run_t *bench, ws_spin_t spin, uint64_t lead_ns);

/// @brief The plan begins with slot @p number, modulo their count. The jitter of what follows depends on @p
/// block only: modes see the same.
void bench_seek(bench_run_t *bench, uint64_t number, uint64_t block);

/// @brief Another pattern from the next slot on; @p pattern stays the caller's.
void bench_set_pattern(bench_run_t *bench, const char *pattern);

/// @brief Sleep until the next slot and run its burst, if it has one.
/// Super-periods whose begin is more than a slot ago are left out, as a radio drops what comes too late: run
/// after each other without a pause, they would show no waking at all.
/// @return false when the slot has none
bool bench_run_slot(bench_run_t *bench, slot_times_t *times);

/// @return slots of the super-periods in @p duration_ms, rounded up
uint64_t bench_slots(const bench_run_t *bench, uint64_t duration_ms);

/// @brief Run slots without looking at them.
void bench_run_slots(bench_run_t *bench, uint64_t slots);

// What can be asked. They print their answers.
void measure_compare(bench_run_t *bench);
void measure_step(bench_run_t *bench);

#endif
