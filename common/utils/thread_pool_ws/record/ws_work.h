// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_work.h
/// What the threads did in a burst, by the events of all rings.
/// @threads  the scribe's
#ifndef WS_WORK_H
#define WS_WORK_H

#include "ws_usual.h" // IWYU pragma: export

/// What a thread did. Times are lengths in ns.
typedef struct {
  bool takes_part; ///< it has events in the burst
  uint64_t over; ///< of its tasks of the burst, ws_usual_above()
  /// Its CPU was taken: it was called and rose much too late, or not by the burst's end; it rose much too
  /// late without a call; or it looked for tasks and took none though there were some.
  uint64_t taken;
  uint64_t slow; ///< what its other wakes took more than ws_rings.wake_ns
} ws_thread_work_t;

/// What all threads did, those of other pools, too. Lengths in ns, within the burst.
typedef struct {
  uint64_t tasks; ///< of the burst, their number
  uint64_t own, other; ///< time in these; in its pool's tasks of other bursts
  uint64_t outside; ///< of `other`, on threads that are no workers
  uint64_t elsewhere; ///< in tasks: waits for other pools
  uint64_t awake; ///< not asleep, or called: with a CPU or without
  uint64_t beside; ///< not asleep: of threads of other pools, but the burst's own
  uint64_t longest, func; ///< of the burst's tasks the longest one
  uint32_t number; ///< of the ring of the thread that ran it
  uint64_t start; ///< from the burst's begin to that of its first task; 0 = none was seen
  uint64_t first, called; ///< as in ws_usual_t; 0 = there was none
  const ws_thread_work_t *of; ///< [rings]
} ws_work_t;

/// @param usual   of the burst
/// @param learns  what is to learn from its tasks, as it was on time; else NULL
/// @return what all threads did in the burst, as far as their rings still have it; its `of` is good until the
/// next call
ws_work_t ws_work_of(const ws_late_burst_t *burst, const ws_usual_t *usual, ws_usual_t *learns);

/// @return whether a thread that was called, or told that its wait is over, has found its CPU taken
/// @param length  ns from then to its next event
bool ws_work_is_taken(uint64_t length);

/// @brief Learn from a few threads' last bursts that were on time: the joining thread leaves the times of one
/// in its ring. Each call goes on with the next threads. Of several bursts of a thread between two looks at
/// it the last one counts.
void ws_work_learn(void);

#endif
