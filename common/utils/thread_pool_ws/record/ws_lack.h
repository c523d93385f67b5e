// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lack.h
/// Which threads had no CPU during a burst, and why: others had it, or they slept in a task.
///
/// A thread notes the CPU time that it has used, and how often it has slept, in its ring (WS_NOTE_USED): a
/// worker when it has no task left, a thread outside at the begin of its burst or phase, and at the end of a
/// late one. Between two such notes it did not use a CPU for wall time less CPU time. A part of that it
/// slept, parked or in a wait. The rest it lacked. If it has slept more often than its events say, it slept
/// in a task. Else others had its CPU: threads, or a host that says so to the kernel. A stop of the process
/// looks like sleep; the scribe knows it.
/// @threads  the scribe's
#ifndef WS_LACK_H
#define WS_LACK_H

#include "ws_late.h" // IWYU pragma: export

/// @brief Learn from a few threads how much CPU time a sleep of the pool takes.
void ws_lack_learn(void);

/// What a thread lacked; cause WS_CAUSES = nothing.
typedef struct {
  uint64_t ns;
  ws_cause_t cause;
} ws_lack_t;

/// @brief Find what all threads lacked in that burst: those that have events in it, or are its pool's.
void ws_lack_look(const ws_late_burst_t *burst);

/// @brief Take at most @p most of it from a thread: each ns of it has one cause. @param number  of its ring
ws_lack_t ws_lack_take(uint32_t number, uint64_t most);

/// @return how long a thread that was called could not rise in the burst, or a worker that looked for tasks
/// took none though there were some, because its CPU was taken
uint64_t ws_lack_wakes(uint32_t number);

/// @return what other wakes of it in the burst took more than usual
uint64_t ws_lack_slow(uint32_t number);

/// @return whether a thread that was called, or told that its wait is over, has found its CPU taken
bool ws_lack_is_taken(uint64_t length);

#endif
