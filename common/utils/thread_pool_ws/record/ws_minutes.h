// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_minutes.h
/// Late bursts of the minute that runs and of the one before: a burst may be examined after its minute is
/// over. An older one counts as one of the minute before. ws_journal_write.h writes them to the journal.
///
/// Minutes are those of the rings' clock since the begin, so that a step of the wall clock neither doubles
/// nor loses one. If that clock begins anew (the machine was suspended), so does a minute.
/// @threads  the scribe's, but for ws_minutes_begin()
#ifndef WS_MINUTES_H
#define WS_MINUTES_H

#include "../include/ws_journal.h" // IWYU pragma: export
#include "ws_clock.h" // IWYU pragma: export

#define WS_MINUTE_NS 60000000000u

typedef struct {
  ws_journal_minute_t row; ///< row.number: since the begin, from 1; 0 = it is none
  ws_journal_burst_t burst[WS_JOURNAL_PLACES];
  uint32_t first_new, end_new; ///< places that are not in the file
  bool is_new; ///< the row is not
} ws_minute_t;

typedef struct {
  uint64_t begin_ns, last_ns; ///< of the rings' clock; last_ns: the last count
  uint64_t before; ///< minutes before begin_ns
  uint32_t pid, life, newest; ///< newest: which of the two
  ws_minute_t at[2];
} ws_minutes_t;

/// @param now_ns  of the rings' clock
void ws_minutes_begin(ws_minutes_t *minutes, uint32_t pid, uint64_t now_ns);

/// @brief Take up an examined late burst, in order of their ends as far as they are known.
void ws_minutes_late(ws_minutes_t *minutes, const ws_journal_burst_t *burst);

/// @brief Bursts have ended since the last call, so many of them late.
/// @param now_ns, real_ns  of the rings' clock and of CLOCK_REALTIME
void ws_minutes_count(ws_minutes_t *minutes, uint64_t now_ns, uint64_t real_ns, uint64_t bursts,
                      uint64_t late);

/// @brief Put a minute of an earlier life before what the oldest one has. @return the oldest one's number
uint64_t ws_minutes_go_on(ws_minutes_t *minutes, const ws_minute_t *with);

/// @brief Nothing of them is in a file.
void ws_minutes_renew(ws_minutes_t *minutes);

#endif
