// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_usual.h
/// What is usual for a kind of bursts: those of a pool that begin with the same function, or those of a
/// phase. Only bursts on time count (ws_work_learn()), so that what makes each second one late does not
/// become usual.
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

ws_usual_t ws_usual_of(const ws_late_burst_t *burst);

/// @param usual  of its burst, for a function that is not known; NULL = that of no burst
/// @return what a task took more than the 99th percentile of its function
uint64_t ws_usual_above(const ws_usual_t *usual, uint64_t func, uint64_t length);

/// @return the values of the burst's kind, for the next two functions; all 0 but the key = a new one
ws_usual_t *ws_usual_place(const ws_late_burst_t *burst);
void ws_usual_learn_task(ws_usual_t *usual, uint64_t func, uint64_t length);
/// @param one  the values of one burst, without task_p99; 0 = it has none
void ws_usual_learn(ws_usual_t *usual, const ws_usual_t *one);

#endif
