// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_usual.h
/// The usual times of a kind of bursts of a pool. Bursts that begin with the same function are of one kind,
/// and so are those of a phase. Only bursts on time count (ws_work_learn()), so that what makes each second
/// one late does not become usual. Tables have a fixed size: if two kinds, or functions, share a place, the
/// later one takes it.
/// @threads  the scribe's
#ifndef WS_USUAL_H
#define WS_USUAL_H

#include "ws_late.h" // IWYU pragma: export

/// Lengths in ns. A value of 0 is not known.
typedef struct {
  uint64_t key; ///< 0 = nothing is known, and all is 0
  uint64_t length; ///< median of theirs
  uint64_t tasks; ///< 90th percentile of their number, times 1024
  uint64_t task, task_p99; ///< lengths of tasks: median of the bursts' means, and 99th percentile of all
  uint64_t first; ///< 90th percentile: from the begin of a phase to its first push
  uint64_t called; ///< the same of the longest time in a burst from a push to the call of a worker after it
} ws_usual_t;

/// @return a copy of what is usual for the burst's kind; all 0 = nothing is known
ws_usual_t ws_usual_of(const ws_late_burst_t *burst);

/// @param usual  of its burst, for a function that is not known; NULL = that of no burst
/// @return what a task took more than the 99th percentile of its function, in whatever pool; 0 also if
/// nothing is known
uint64_t ws_usual_above(const ws_usual_t *usual, uint64_t func, uint64_t length);

/// @return the values of the burst's kind, for the next two functions; all 0 but the key = a new one. They
/// are good until the next call
ws_usual_t *ws_usual_place(const ws_late_burst_t *burst);
/// @brief Learn from a task of a burst that was on time: the 99th percentiles of its function and of its kind
/// of bursts.
void ws_usual_learn_task(ws_usual_t *usual, uint64_t func, uint64_t length);
/// @brief Learn the medians and 90th percentiles from a burst that was on time.
/// @param one  the values of one burst; 0 = it has none, and what is learnt stays. key and task_p99 are not
/// read
void ws_usual_learn(ws_usual_t *usual, const ws_usual_t *one);

#endif
