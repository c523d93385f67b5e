// SPDX-License-Identifier: BSD-3-Clause
/// @file bench_backend.h
/// What a pool must offer to take part: one table of functions, exported by its module as `bench_backend`.
///
/// A module is loaded in a process that lives for one measurement and holds one pool, so it may keep its
/// state in file-scope variables where the pool's own API leaves no other place.
#ifndef BENCH_BACKEND_H
#define BENCH_BACKEND_H

#include <stdbool.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#ifdef __cplusplus
extern "C" {
#endif

/// One task. It is read-only and outlives the wait(); the same one may be pushed many times at once.
typedef struct {
  void (*func)(void *arg);
  void *arg;
} bench_task_t;

typedef struct {
  uint32_t workers; ///< threads beside the producer
  uint32_t pin_first, pin_step; ///< see ws_settings_t; 0 = floating. For a backend with pinned_cpu
  bool hot; ///< workers shall not sleep, where the pool offers that
  int32_t rt_priority; ///< > 0: workers shall run SCHED_RR at it. Matters to a backend with sets_class only
  bool fifo; ///< SCHED_FIFO in the place of SCHED_RR
  uint32_t tasks_max; ///< most tasks pushed between two waits
} bench_settings_t;

/// @return the sum of one piece of a reduction. One function of the program, so that all pools run the same
/// instructions
typedef double (*bench_sum_t)(uint64_t intervals, uint64_t first, uint64_t end);

/// What a burst of a slot is to a gNB.
typedef enum { BENCH_PHASE_NONE, BENCH_SYMBOL_PROCESSING, BENCH_ULSCH_DECODING } bench_phase_t;

typedef struct {
  const char *version;
  bool waiter_helps; ///< wait() runs tasks
  bool has_workers; ///< false = everything runs in the producer
  bool nested_push; ///< push() may be called inside a task, and wait() then waits for those tasks, too
  bool batches; ///< push() only collects; the tasks start in wait()
  bool sets_class; ///< gives its workers their class itself; else they inherit it from the creating thread

  /// @return the pool; NULL = it cannot be had
  void *(*create)(const bench_settings_t *settings);
  /// @return the CPU of a worker, or of the thread after the last one. NULL = this pool does not pin
  int32_t (*pinned_cpu)(void *pool, uint32_t index);
  /// Call body(arg) where pushing is possible, e.g. inside a parallel region. NULL = anywhere
  void (*run)(void *pool, void (*body)(void *arg), void *arg);
  /// Announce that @p count tasks follow, then a wait(). NULL = not needed
  void (*arm)(void *pool, uint32_t count);
  void (*push)(void *pool, const bench_task_t *task);
  /// Return when all @p count tasks announced have run
  void (*wait)(void *pool);
  /// Inside a task: spawn @p child, run @p own here, join the child. NULL = the pool cannot do that
  void (*fork_join)(void *pool, const bench_task_t *child, const bench_task_t *own);
  /// @return the sum of sum(intervals, first, end) over pieces of [0, intervals). Outside of run(). NULL =
  /// cannot
  double (*reduce)(void *pool, uint64_t intervals, bench_sum_t sum);
  /// Tell a tracer that the calling thread begins a phase, before its first push, and ends it, after
  /// its wait(). Never with BENCH_PHASE_NONE. Both or neither are NULL; NULL = this pool has no such events
  void (*phase_begin)(bench_phase_t phase, uint32_t frame, uint32_t slot);
  void (*phase_end)(bench_phase_t phase);
  /// @return wakes so far after which a worker ran on its waker's CPU, which had to stop. NULL = not counted
  uint64_t (*stopped_callers)(void *pool);
  void (*destroy)(void *pool);
} bench_backend_t;

#define BENCH_EXPORT __attribute__((visibility("default")))
/// The version of a pool whose header has it as three numbers.
#define BENCH_VERSION_TEXT(major, minor, patch)                                                              \
  BENCH_TEXT_OF(major) "." BENCH_TEXT_OF(minor) "." BENCH_TEXT_OF(patch)
#define BENCH_TEXT_OF(number) #number

#ifdef __cplusplus
}
#endif
#endif
