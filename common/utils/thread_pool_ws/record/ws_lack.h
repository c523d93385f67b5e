// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lack.h
/// Which threads had no CPU during a burst, and why: they were runnable and others had it, or they slept in a
/// task.
///
/// The scribe notes counters of each thread that has events. Between two notes a thread did not use a CPU
/// for wall time less CPU time. Of that it has slept in ws_park(), in a wait, and a thread outside between
/// two bursts, when it is taken to sleep. Of what is left schedstat says how long the thread was runnable:
/// then it had no CPU. Else it slept in a task: then it has got a CPU once more than its events say. Or a host
/// had its CPU, which a kernel counts that knows of it. A stop of the process looks like sleep; the scribe
/// knows it.
/// @threads  the scribe's
#ifndef WS_LACK_H
#define WS_LACK_H

#include "ws_late.h" // IWYU pragma: export

/// @brief Note the counters. Without a note from before a burst it is not known whether a thread had a CPU.
/// @param calm  no burst was late since the last call: learn what a sleep takes
void ws_lack_note(bool calm);

/// What a thread lacked; cause WS_CAUSES = nothing.
typedef struct {
  uint64_t ns;
  ws_cause_t cause;
} ws_lack_t;

/// @brief Find what all threads lacked in that burst: those that have events in it, or are its pool's.
void ws_lack_look(const ws_late_burst_t *burst);

/// @brief Take at most @p most of it from a thread: each ns of it has one cause. @param number  of its ring
ws_lack_t ws_lack_take(uint32_t number, uint64_t most);

/// @return how long a thread that was called could not rise in the burst, because its CPU was taken
uint64_t ws_lack_wakes(uint32_t number);

/// @return whether a thread that was called, or told that its wait is over, has found its CPU taken
bool ws_lack_is_taken(uint64_t length);

#endif
