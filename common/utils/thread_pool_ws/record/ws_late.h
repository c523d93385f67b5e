// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_late.h
/// A burst that the scribe examines, as it has ended late, or learns from, as it was on time.
#ifndef WS_LATE_H
#define WS_LATE_H

#include "../include/ws_ledger.h" // IWYU pragma: export
#include "ws_rings.h" // IWYU pragma: export

/// A burst or phase that has ended late, and what it was late for. Times are of CLOCK_MONOTONIC, lengths in
/// ns. One that was on time (ws_work_learn()) has only ring, begin, end, pool, key and pushed.
typedef struct {
  const ws_event_ring_t *ring; ///< of the thread that joined, or ended the phase
  uint64_t tid; ///< of it: the ring may have another one by now
  /// Times. Id of the pool of its last push. Of its kind: the function of its first task << 16, and a size;
  /// or WS_IN_PHASE + the phase. Number of tasks. The longest length that is on time.
  uint64_t begin, end, pool, key, pushed, limit;
  uint64_t usual; ///< of its length: the lower quartile of its kind; limit = not learnt yet
  /// By its thread: time neither on a CPU nor asleep in a wait; before its note in the burst at least that. 0
  /// also without that note.
  uint64_t lacked;
  bool slept; ///< that thread meanwhile, outside of waits
  // The scribe's: 0 until it comes to the burst.
  bool was_stopped; ///< the process was, at about that time
  bool has_quota; ///< a quota was seen to be used up at most 0.25 s before its end, or since
  /// By cause, and in sum: ws_path_blame() sets ns over the usual. Then the scribe makes the parts, but not
  /// the sum, ns over the limit.
  uint64_t part[WS_CAUSES], sum;
  ws_cause_t cause; ///< the main one
  uint64_t func, task, task_tid; ///< its longest task: function, length and thread; 0 = none was seen
  uint64_t start; ///< from its begin to its first task's; 0 = not known
} ws_late_burst_t;

#endif
