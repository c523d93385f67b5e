// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_late.h
/// Why did a burst start late? The first worker that takes a task of a burst compares its start with the 90th
/// percentile of starts. Above that it finds the cause (ws_stats.h) from what it remembers of its sleep, and
/// counts it. A burst that is not late costs a comparison.
#ifndef WS_LATE_H
#define WS_LATE_H

#include "../pool/ws_types.h"

/// What a worker knows of a burst and of its own sleep before.
typedef struct {
  uint64_t arrival_ns; ///< the burst came
  uint64_t found_ns; ///< the worker took a task
  uint64_t slept_ns, rose_ns; ///< its last sleep
  uint64_t called_ns; ///< when a push called it; 0 = no push did
  bool by_timer; ///< its timer ended the sleep
  bool beside; ///< it woke on the CPU of the thread that pushes
  ws_plan_t plan; ///< of the sleep
  ws_plan_t gave_up; ///< of the timer wake before it, after which no burst came; rise_ns 0 = none
  ws_late_t unset; ///< why the sleep had no timer; WS_LATE_WAKE = for no reason of these
  uint64_t gap_ns, usual_gap_ns; ///< time since the burst before; as the pattern has it, 0 = not known
} ws_late_facts_t;

/// @return the cause, of those that hold the one that comes first in time
ws_late_t ws_late_cause(const ws_late_facts_t *facts);

/// Statistics of the starts of a pool's bursts.
typedef struct {
  ws_au64_t starts; ///< S bursts that a worker has started
  ws_au64_t bound_ns; ///< S the 90th percentile of their lateness, about
  ws_au64_t last_ns; ///< S arrival of the burst that was noted last
  ws_au64_t by[WS_LATE_CAUSES]; ///< S those above the bound, by cause
} ws_late_count_t;

/// @brief Note the lateness of a burst's start, and follow the 90th percentile. @return whether it is above
bool ws_late_note(ws_late_count_t *count, uint64_t late_ns);

#endif
