// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stats.h
/// Counters of a pool, which can be read while it runs. Each counter is exact for its own thread; those of
/// one snapshot were not read at the same moment. A later version may append counters to each structure. The
/// functions whose names end in _sized get the sizes of the caller's structures: they fill no more, and set
/// counters to 0 that the library does not have.
#ifndef WS_STATS_H
#define WS_STATS_H

#include <stdbool.h> // IWYU pragma: export
#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct ws_pool_s;

/// What a worker does.
typedef enum {
  WS_WORKER_PARKED, ///< it sleeps, or is on its way from or to sleep
  WS_WORKER_SWITCHING, ///< it is awake and looks for a task
  WS_WORKER_BUSY, ///< it runs tasks, or waits inside one
  WS_WORKER_STATES
} ws_worker_state_t;

/// Counters since the pool's creation: of one worker, or summed over all threads that are not workers
/// (ws_stats_t.outside).
typedef struct {
  /// tasks taken from a queue and run, or skipped by an abort. In pools of 16 workers or more a worker counts
  /// some for its neighbours, and the sum over threads outside has a few of workers
  uint64_t run_tasks;
  uint64_t stolen_tasks; ///< those of run_tasks that came from no queue of the thread's own
  uint64_t inline_tasks; ///< tasks run inside a push, because the queue was full
  uint64_t parks; ///< times the worker went to sleep because it found no work
  uint64_t wakes_sent; ///< sleeping workers that this thread woke
  uint64_t spins; ///< times the thread spun because it found no work at once
  uint64_t spin_ns; ///< CPU time of these spins, without the time in which it had lost its CPU
  uint64_t growths; ///< times the thread's queue grew
  uint64_t high_water_tasks; ///< most tasks that the queue has held
  uint64_t placements; ///< times the worker moved off the CPU of a thread that pushes
  uint64_t stopped_callers; ///< wakes after which the worker ran on its waker's CPU: that thread had to stop
  int32_t cpu; ///< CPU to which the worker is pinned, -1 = floats
  bool realtime; ///< the worker runs in a real-time class
  ws_worker_state_t state; ///< right now; PARKED for the threads outside, and after the pool's stop
  /// [ws_worker_state_t] time in each state, the present one included; 0 for the threads outside
  uint64_t state_ns[WS_WORKER_STATES];
  uint64_t futile_wakes; ///< times that another thread woke the worker, and it found no task
} ws_worker_stats_t;

/// The decision at an event that may wake workers, while at least one sleeps. If a worker searches already, a
/// push makes a decision only when its thread has three tasks queued or more.
typedef enum {
  WS_DECIDED_TASK, ///< woken for a task that waited
  WS_DECIDED_SPREAD, ///< woken for a burst: by a push while workers searched, or by one that had found a task
  WS_DECIDED_HINT, ///< woken because of a hint
  WS_DECIDED_STUCK, ///< woken by the guard for tasks that no worker had reached
  WS_DECIDED_TIMER, ///< woken by its own timer
  WS_DECIDED_ALL, ///< all: the pool stopped, or became hot
  WS_DECIDED_CAP, ///< none: as many workers as may be were awake, or no CPU was left for one that spins
  WS_DECIDED_ENOUGH, ///< none: others would have taken all tasks before it began, or those called call more
  WS_DECISIONS
} ws_decided_t;

/// Counters of a pool, and its present state.
typedef struct {
  uint32_t workers; ///< threads obtained
  uint32_t workers_requested;
  uint32_t workers_pinned; ///< workers pinned to the CPU that was requested for them
  uint32_t workers_realtime; ///< workers in a real-time class
  uint32_t workers_active; ///< workers that run a task right now
  uint32_t workers_awake; ///< workers that do not sleep right now
  uint32_t cpus; ///< at the creation: CPUs of the process's mask and pinned cores; the quota if that is less
  uint32_t lanes_used; ///< lanes given to pushing threads so far (reused after a thread ends)
  uint64_t queued_tasks; ///< tasks in all queues, approximately
  /// Memory of the queues beyond their initial size. It goes back to the kernel when a queue is empty and the
  /// pool rests, except that of threads' queues if the process locks its memory (mlockall).
  uint64_t queue_bytes;
  uint64_t guard_looks; ///< times the watchdog thread checked for tasks behind blocked workers
  uint64_t starved_searches; ///< times a worker that was to take a task got no CPU for about 1 ms
  uint64_t spared_wakes; ///< wakes left out because the pinned worker would have stopped the pushing
      ///< thread
  uint64_t cancelled_tasks; ///< tasks with a key that were skipped (ws_key.h), also by WS_STOP_ABORT
  uint64_t skipped_tasks; ///< tasks skipped by WS_STOP_ABORT
  uint64_t decided[WS_DECISIONS]; ///< [ws_decided_t] times, while a worker slept
  ws_worker_stats_t outside; ///< sum over the threads that are not workers. Stays the last
} ws_stats_t;

/// What woke a worker.
typedef enum { WS_WAKE_PUSH, WS_WAKE_TIMER } ws_wake_by_t;

/// Number of classes of sleep: shorter than 250 us, 1 ms, 4 ms, 16 ms, and longer.
#define WS_WAKE_GAPS 5

/// Time from the wake (the futex call, or the time of the timer) to the worker's first instruction.
typedef struct {
  uint64_t wakes;
  uint64_t p50_ns, p99_ns; ///< to within an eighth
} ws_wake_latency_t;

/// How far the pattern of bursts can be relied on.
typedef enum {
  WS_PATTERN_LOST, ///< none is known
  WS_PATTERN_UNCERTAIN, ///< one is known, but lately bursts came late, or did not come
  WS_PATTERN_LOCKED ///< bursts come when they are expected
} ws_pattern_state_t;

/// Causes of late starts, for programs that were written for version 0.1. Nothing counts them any more.
typedef enum {
  WS_LATE_BURST_EARLY,
  WS_LATE_BURST_LATE,
  WS_LATE_GAVE_UP,
  WS_LATE_PAUSE,
  WS_LATE_NO_PATTERN,
  WS_LATE_LEVEL,
  WS_LATE_PLACES,
  WS_LATE_CAP,
  WS_LATE_TIMER,
  WS_LATE_BUSY_CPU,
  WS_LATE_CPU_TAKEN,
  WS_LATE_CALL,
  WS_LATE_WAKE,
  WS_LATE_CAUSES
} ws_late_t;

/// @return a few words in English, the same for each cause; NULL if @p cause is none
const char *ws_late_name(ws_late_t cause);

/// What pre-wake has learnt and done since the pool's creation.
typedef struct {
  uint64_t bursts; ///< bursts after a pause
  uint64_t expected_bursts; ///< those of bursts that came about when they were expected
  uint64_t absent_bursts; ///< expected bursts that did not come
  uint64_t period_ns; ///< time after which the pattern of bursts repeats; 0 = no pattern is known
  uint32_t period_bursts; ///< bursts in one period
  ws_pattern_state_t state;
  uint64_t locks; ///< times that a new pattern was found
  uint32_t level; ///< 2 = pre-wake, 1 = spin after a burst only, 0 = sleep at once: docs/prewake.md
  uint64_t level_changes;
  uint64_t hits; ///< timer wakes after which the worker was awake when the burst came
  uint64_t lates; ///< timer wakes that were not over when the burst came
  uint64_t misses; ///< timer wakes for a burst that did not come
  uint64_t unused; ///< hits and lates after which the worker found no task left
  uint64_t lead_p50_ns, lead_p99_ns; ///< from the timer to the expected burst, to within an eighth
  uint64_t spin_ns; ///< CPU time that workers spun
  uint64_t capped_spins; ///< spins ended or not begun because of spin_cpu_max_percent
  uint64_t preempted_spins; ///< spins during which another thread had the CPU
  uint64_t throttled_looks; ///< seconds in which the control group's quota was used up
  ws_wake_latency_t wake[2][WS_WAKE_GAPS]; ///< [ws_wake_by_t][class of sleep]

  // Starts of bursts: from the first push to the first task on a worker.
  uint64_t started_bursts; ///< bursts of which a worker took a task
  uint64_t late_ns_p90; ///< length of their starts: about one in ten is longer
  uint64_t late_by[WS_LATE_CAUSES]; ///< [ws_late_t] 0
} ws_prewake_stats_t;

/// @brief ws_pool_prewake_stats() into @p bytes. For callers that do not compile this header.
void ws_pool_prewake_stats_sized(const struct ws_pool_s *pool, ws_prewake_stats_t *stats, size_t bytes);

/// @brief Take a snapshot of the counters of pre-wake. Ignores NULL.
/// @threads   any thread, while the pool exists; also after its stop
static inline void ws_pool_prewake_stats(const struct ws_pool_s *pool, ws_prewake_stats_t *stats)
{
  ws_pool_prewake_stats_sized(pool, stats, sizeof(*stats));
}

/// Where ws_pool_stats_sized() writes.
typedef struct {
  ws_stats_t *total;
  size_t total_bytes; ///< of *total
  ws_worker_stats_t *worker; ///< may be NULL if worker_max is 0
  size_t worker_bytes; ///< from one entry to the next
  uint32_t worker_max; ///< entries
} ws_stats_out_t;

/// @brief ws_pool_stats() into structures of any size. For callers that do not compile this header.
uint32_t ws_pool_stats_sized(const struct ws_pool_s *pool, const ws_stats_out_t *out);

/// @brief Take a snapshot of the pool's counters.
/// @param total       out
/// @param worker      out: worker[i] for i < worker_max; may be NULL if worker_max is 0
/// @return the number of entries of @p worker that were filled; 0 if @p pool or @p total is NULL
/// @threads   any thread, while the pool exists; also after its stop
/// @progress  wait-free; changes nothing
static inline uint32_t ws_pool_stats(const struct ws_pool_s *pool, ws_stats_t *total,
                                     ws_worker_stats_t *worker, uint32_t worker_max)
{
  const ws_stats_out_t out = {total, sizeof(*total), worker, sizeof(*worker), worker_max};
  return ws_pool_stats_sized(pool, &out);
}

/// @brief Report the statistics as at most 100 lines of at most 100 characters, without line ends.
/// Ignores a NULL pool. Without memory for their counters the workers' rows are left out.
/// Waits at most 0.1 s for the causes of late bursts.
/// @param line  called once for each line, in the calling thread; NULL: nothing happens
/// @threads   any thread, while the pool exists; also after its stop
void ws_pool_report(const struct ws_pool_s *pool, void (*line)(void *arg, const char *text), void *arg);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
