// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stats.h
/// Counters of a pool, read while it runs. Each counter is exact for its own thread; a snapshot of several is
/// not one moment.
#ifndef WS_STATS_H
#define WS_STATS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct ws_pool_s;

/// Counters of one worker, or the sum over all threads that are not workers (ws_stats_t.outside). Since
/// creation.
typedef struct {
  uint64_t run_tasks;           ///< tasks taken from a queue and run, or skipped by an abort
  uint64_t stolen_tasks;        ///< those of them taken from another thread's queue
  uint64_t inline_tasks;        ///< tasks run inside a push, because its queue was full
  uint64_t parks;               ///< times it went to sleep for want of work
  uint64_t wakes_sent;          ///< sleepers woken
  uint64_t spins;               ///< times it looked for work without finding any at once
  uint64_t spin_ns;             ///< CPU time spent so; not the time in which the thread had lost its CPU
  uint64_t growths;             ///< times its queue grew
  uint64_t high_water_tasks;    ///< most tasks its queue has held
  uint64_t placements;          ///< times it moved off the CPU of a thread that pushes
  int32_t cpu;                  ///< CPU it is pinned to, -1 = floats
  bool realtime;                ///< runs in a real-time class
} ws_worker_stats_t;

typedef struct {
  uint32_t workers;             ///< threads obtained
  uint32_t workers_requested;
  uint32_t workers_pinned;      ///< that run on the CPU they were asked to
  uint32_t workers_realtime;    ///< that run in a real-time class
  uint32_t workers_active;      ///< that run a task right now
  uint32_t workers_awake;       ///< that do not sleep right now
  uint32_t cpus;                ///< CPUs that the pool reckons with (mask, quota, pinned cores)
  uint32_t lanes_used;          ///< lanes given out to pushing threads so far (reused after a thread ends)
  uint64_t queued_tasks;        ///< tasks in all queues, about
  uint64_t queue_bytes;         ///< memory that the queues hold beyond what they started with
  uint64_t guard_looks;         ///< times the guard looked whether queued tasks are reached
  uint64_t starved_searches;    ///< times that a worker which was to take a task got no CPU for about 1 ms
  uint64_t skipped_tasks;       ///< by an abort stop
  ws_worker_stats_t outside;    ///< threads that are not workers, summed
} ws_stats_t;

/// By what a worker was woken.
typedef enum { WS_WAKE_PUSH, WS_WAKE_TIMER } ws_wake_by_t;

/// Classes of how long a worker had slept: below 250 us, 1 ms, 4 ms, 16 ms, and longer.
#define WS_WAKE_GAPS 5

/// Time from the wake (the call, or the moment the timer was set to) to the worker's first instruction.
typedef struct {
  uint64_t wakes;
  uint64_t p50_ns, p99_ns; ///< to within an eighth
} ws_wake_latency_t;

/// What pre-wake has learnt and done, since creation.
typedef struct {
  uint64_t bursts;          ///< that came after a pause
  uint64_t expected_bursts; ///< those of them that came about when they were expected
  uint64_t absent_bursts;   ///< expected, and did not come
  uint64_t period_ns;       ///< after which the pattern of bursts repeats; 0 = none is known
  uint32_t period_bursts;   ///< bursts in it
  uint32_t level;           ///< 2 = pre-wake, 1 = looks after a burst, 0 = sleeps at once: docs/prewake.md
  uint64_t level_changes;
  uint64_t hits;            ///< worker was awake when the burst came
  uint64_t lates;           ///< it was on its way
  uint64_t misses;          ///< it got up, and the burst did not come
  uint64_t unused;          ///< hits and lates that found no task left
  uint64_t lead_p50_ns, lead_p99_ns; ///< from getting up to the expected burst, to within an eighth
  uint64_t spin_ns;         ///< CPU time that workers looked for work
  uint64_t capped_spins;    ///< spins ended or not begun because of spin_cpu_max_percent
  uint64_t preempted_spins; ///< spins during which somebody else had the CPU
  uint64_t throttled_looks; ///< seconds in which the control group's quota was used up
  ws_wake_latency_t wake[2][WS_WAKE_GAPS]; ///< [ws_wake_by_t][class of sleep]
} ws_prewake_stats_t;

/// @brief Take a snapshot of what pre-wake does. NULL: nothing happens.
/// @threads   any thread, while the pool exists; also after its stop
void ws_pool_prewake_stats(struct ws_pool_s *pool, ws_prewake_stats_t *stats);

/// @brief Take a snapshot.
/// @param total       out
/// @param worker      out, worker[i] for i < worker_max; NULL with worker_max 0 = not wanted
/// @return number of entries of @p worker that were filled; 0 when @p pool or @p total is NULL
/// @threads   any thread, while the pool exists; also after its stop
/// @progress  wait-free; changes nothing
uint32_t ws_pool_stats(struct ws_pool_s *pool, ws_stats_t *total, ws_worker_stats_t *worker,
                       uint32_t worker_max);

/// @brief What the statistics say, as at most 40 lines of at most 100 characters, without line ends.
/// @param line  called for each of them, from this thread; NULL: nothing happens
/// @threads   any thread, while the pool exists; also after its stop
void ws_pool_report(struct ws_pool_s *pool, void (*line)(void *arg, const char *text), void *arg);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
