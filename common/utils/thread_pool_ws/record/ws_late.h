// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_late.h
/// A burst that has ended late.
#ifndef WS_LATE_H
#define WS_LATE_H

#include "../include/ws_ledger.h" // IWYU pragma: export
#include "ws_rings.h" // IWYU pragma: export

/// A burst or phase that has ended late, and what it was late for: ns over the usual, by cause.
typedef struct {
  const ws_event_ring_t *ring; ///< of the thread that joined
  uint64_t tid; ///< of it: the ring may have another one by now
  uint64_t begin, end, pool, key, pushed, limit;
  uint64_t usual; ///< of its length: the lower quartile of its kind
  uint64_t lacked; ///< by its thread, from its first note on: time neither on a CPU nor asleep in a wait
  bool slept; ///< that thread meanwhile, outside of waits
  // The scribe's.
  bool was_stopped; ///< the process was, at about that time
  bool has_quota; ///< the control group was throttled not long before
  uint64_t part[WS_CAUSES], sum;
  ws_cause_t cause; ///< the main one
  uint64_t func, task, task_tid; ///< its longest task: function, length and thread
  uint64_t start; ///< from its begin to the first task on the path
} ws_late_burst_t;

#endif
