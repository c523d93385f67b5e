// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_stats.h
/// Counters of a pool, read while it runs. Each counter is exact for its own thread; a snapshot of several is
/// not one moment.
#ifndef WS_STATS_H
#define WS_STATS_H

#include <stdbool.h>
#include <stdint.h>

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
  uint64_t spin_ns;             ///< time spent so
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
  uint64_t guard_looks;         ///< times the guard looked whether tasks wait behind blocked workers
  uint64_t skipped_tasks;       ///< by an abort stop
  ws_worker_stats_t outside;    ///< threads that are not workers, summed
} ws_stats_t;

/// @brief Take a snapshot.
/// @param total       out
/// @param worker      out, worker[i] for i < worker_max; NULL with worker_max 0 = not wanted
/// @return number of entries of @p worker that were filled
/// @threads   any thread, while the pool exists; also after its stop
/// @progress  wait-free; changes nothing
uint32_t ws_pool_stats(struct ws_pool_s *pool, ws_stats_t *total, ws_worker_stats_t *worker,
                       uint32_t worker_max);

#ifdef __cplusplus
}
#endif
#endif
