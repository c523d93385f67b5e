// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_path.h
/// The critical path of a burst or phase: the chain of tasks and waits that ended last, found in the rings.
/// @threads  the scribe's
#ifndef WS_PATH_H
#define WS_PATH_H

#include "../include/ws_ledger.h" // IWYU pragma: export
#include "ws_rings.h" // IWYU pragma: export

/// A burst or phase that has ended late, and what it was late for: ns over the usual, by cause.
typedef struct {
  const ws_event_ring_t *ring; ///< of the thread that joined
  uint64_t begin, end, pool, key, limit, usual, task_p99; ///< limit, usual: of its length
  uint64_t part[WS_CAUSES], sum;
  uint64_t func, task, task_tid; ///< the longest task on the path: its function, length and thread
  uint64_t start; ///< from its begin to the first task on the path
} ws_late_burst_t;

/// @brief Note what CPU time threads have used. Without such a note from before the burst it is not known
/// whether one of them had a CPU.
void ws_path_sample(void);

/// @brief Find the parts. Takes time in proportion to the events of the burst, and of its threads since the
/// last note before it.
void ws_path_blame(ws_late_burst_t *burst);

#endif
