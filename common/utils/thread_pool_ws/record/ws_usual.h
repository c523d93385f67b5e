// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_usual.h
/// What is usual for a kind of bursts: those of a pool that begin with the same function, or those of a
/// phase. Only bursts on time count, so that what makes each second one late does not become usual. The
/// joining thread leaves the times of its last such burst in its ring, and the scribe finds the tasks in the
/// rings.
/// @threads  the scribe's
#ifndef WS_USUAL_H
#define WS_USUAL_H

#include "ws_late.h" // IWYU pragma: export

typedef struct {
  uint64_t key; ///< 0 = nothing is known, and all is 0
  uint64_t length; ///< median of theirs
  uint64_t tasks; ///< 90th percentile of their number, times 1024
  uint64_t task, task_p99; ///< median of the mean, and 99th percentile, of the lengths of all
  uint64_t first; ///< 90th percentile: from the begin of a phase to its first push
  uint64_t called; ///< the same: from a push to the call of a worker after it
} ws_usual_t;

/// The work of a burst. Times are lengths in ns.
typedef struct {
  uint64_t tasks; ///< of the burst, their number
  uint64_t own, other; ///< time in these; in those of others on threads of its pool
  uint64_t outside; ///< of the others on threads that are no workers
  uint64_t elsewhere; ///< of all: waits for other pools
  uint64_t awake, beside; ///< of all threads, and of those of other pools: not asleep, with a CPU or without
  uint64_t longest, func; ///< of those of the burst the longest one
  uint32_t number; ///< of the ring of its thread
  const uint64_t *over; ///< [rings] of those of the burst, ws_usual_above()
  uint64_t first, called; ///< as above; 0 = there was none
} ws_work_t;

/// The result is good until the next call.
ws_work_t ws_usual_work(const ws_late_burst_t *burst);
ws_usual_t ws_usual_of(const ws_late_burst_t *burst);

/// @param usual  of its burst, for a function that is not known; NULL = that of no burst
/// @return what a task took more than the 99th percentile of its function
uint64_t ws_usual_above(const ws_usual_t *usual, uint64_t func, uint64_t length);

/// @brief Learn from a few threads' last bursts that were on time.
void ws_usual_learn(void);

#endif
