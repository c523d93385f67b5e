// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_journal.h
/// Late bursts of the last day, and the minutes of the last week: what a program with settings.record leaves
/// in its folder, in a file *.journal. A process goes on with that of the last one; if several run, each has
/// its own. Any process of the same user reads them, also while they run.
///
/// A minute has at most WS_JOURNAL_PLACES bursts: its first late one, and those that are longest over their
/// limits. So an hour of overload does not push out the day; its minutes count all.
#ifndef WS_JOURNAL_H
#define WS_JOURNAL_H

#include "ws_ledger.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

#define WS_JOURNAL_PLACES 180u ///< late bursts of a minute
#define WS_JOURNAL_MINUTES 1457u ///< that have them: 262,260 in all, of a day and 17 minutes
#define WS_JOURNAL_ROWS 10080u ///< minutes of a week
#define WS_JOURNAL_CAUSES 16u ///< room for causes

/// A late burst or phase, once it is examined, or cannot be. Times without another word are lengths.
typedef struct {
  uint64_t end_ns; ///< when it ended, of CLOCK_MONOTONIC
  uint64_t real_ns; ///< the same of CLOCK_REALTIME
  uint64_t length_ns, limit_ns;
  uint64_t key; ///< what bursts of one kind share
  uint64_t func; ///< of its longest task; 0 = none was seen
  uint64_t task_ns; ///< length of that task
  uint32_t start_ns; ///< from its first push, or a phase's begin, to its first task; 0 = not known
  uint32_t pid, pool; ///< pool: its id
  uint32_t tid, task_tid; ///< the thread that joined; that of the longest task
  uint32_t cpu; ///< + 1: on which task_tid was when the burst was examined; 0 = not known
  uint32_t cause; ///< ws_cause_t: the main one
  uint32_t minute; ///< whose place it has: ws_journal_minute_t.number
  uint32_t life; ///< of the processes with this pid: in a container each one may have 1
  uint16_t part[WS_JOURNAL_CAUSES]; ///< [ws_cause_t] of its time over the limit, in 65,535ths
} ws_journal_burst_t;

/// All bursts and phases that ended in a minute of CLOCK_REALTIME. If that is set back, a minute has those of
/// both times.
typedef struct {
  uint64_t number; ///< since 1970, from 1
  uint64_t real_ns; ///< when it was last written, of CLOCK_REALTIME
  uint64_t bursts, late;
  /// Of the late ones; of the others the newest have parts, and entries of cause WS_CAUSE_UNSEEN. It counts
  /// by their ends, late up to 0.2 s later, so that of two minutes one may have more and the other less.
  uint64_t examined;
  uint64_t worst_ns; ///< over the limit
  uint64_t entries; ///< of late bursts that it has
  uint64_t part_ns[WS_JOURNAL_CAUSES]; ///< [ws_cause_t] in sum
} ws_journal_minute_t;

/// @return a late burst's time over its limit
static inline uint64_t ws_journal_over_ns(const ws_journal_burst_t *burst)
{
  return burst->length_ns > burst->limit_ns ? burst->length_ns - burst->limit_ns : 0;
}

/// @return what a cause has of that
static inline uint64_t ws_journal_part_ns(const ws_journal_burst_t *burst, ws_cause_t cause)
{
  return (uint64_t)((double)ws_journal_over_ns(burst) * burst->part[cause] / UINT16_MAX);
}

/// @brief Call @p each for the late bursts of all journals in a folder, one journal after the other, in order
/// of their minutes and ends.
/// @param path    the folder, or one journal
/// @param since_ns, until_ns  of CLOCK_REALTIME: those that ended in between; until_ns 0 = without an end
/// @param cause   those of this main cause; WS_CAUSES = all
/// @return how many journals were read
///         -EINVAL  path or each is NULL; a file is no journal of this version, is a link, or belongs to
///                  neither this user nor root
///         -errno   a file cannot be read. Of several errors the first: the other journals are read all the
///                  same
/// @threads   any
int ws_journal_bursts(const char *path, uint64_t since_ns, uint64_t until_ns, ws_cause_t cause,
                      void (*each)(void *arg, const ws_journal_burst_t *burst), void *arg);

/// @brief The same of minutes of the last week that reach into that time, with counts of all their bursts.
int ws_journal_minutes(const char *path, uint64_t since_ns, uint64_t until_ns,
                       void (*each)(void *arg, const ws_journal_minute_t *minute), void *arg);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
