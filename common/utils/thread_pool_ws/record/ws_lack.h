// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lack.h
/// Which threads had no CPU during a burst, and why: others had it, or they slept in a task.
///
/// A thread notes the CPU time that it has used, and how often it has slept, in its ring (WS_NOTE_USED): a
/// worker when it has no task left, each 50 us at most; a thread outside at the begin of a phase, at the
/// second push or first wait of a burst, and at the end of a late one. Between two such notes it did not use
/// a CPU for wall time less CPU time. A part of that it slept, parked or in a wait. The rest it lacked. If it
/// has slept more often than its events say, it slept in a task. Else others had its CPU: threads, or a host
/// that says so to the kernel. A stop of the process looks like sleep; the scribe knows it.
///
/// From a burst's begin to its first note a thread outside used at most the CPU time since its note before
/// that, of an earlier burst. If more time has passed, it lacked a CPU for the difference. For the other time
/// the notes do not show whether it had one: that time is unseen.
/// Once a late burst had such a begin, its thread notes at the first push, which costs each burst two system
/// calls: the worker that it calls may take its CPU.
/// @threads  the scribe's
#ifndef WS_LACK_H
#define WS_LACK_H

#include "ws_work.h" // IWYU pragma: export

/// @brief Learn from a few threads how much CPU time a sleep of the pool takes: to go to sleep and to rise.
/// Each call goes on with the next ones.
void ws_lack_learn(void);

/// What a thread lacked, and why. If that is nothing, ns is 0, and cause may be WS_CAUSES.
typedef struct {
  uint64_t ns;
  ws_cause_t cause;
} ws_lack_t;

/// @brief Find what all threads lacked in that burst: those that have events in it, or are its pool's.
/// ws_lack_take() then takes from that.
void ws_lack_look(const ws_late_burst_t *burst, const ws_work_t *work);

/// @brief Take at most @p most of it from a thread: each ns of it has one cause. @param number  of its ring
ws_lack_t ws_lack_take(uint32_t number, uint64_t most);

/// @return ns from the burst's begin to the thread's first note in it of which its notes do not show whether
/// it had a CPU
uint64_t ws_lack_unseen(uint32_t number);

#endif
