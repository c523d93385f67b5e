// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_scribe.h
/// The scribe: a thread that examines late bursts and writes the record, so that no thread of a pool, and
/// none that joins, has to. It lives while a pool is judged, and has the lowest class (SCHED_IDLE). It polls:
/// a call of it would cost the joining thread more than all else. It uses at most a tenth of a CPU.
///
/// A joining thread writes a late burst into a list of the last WS_LATE_BURSTS and goes on. One that was
/// overwritten before the scribe came to it is not examined (WS_CAUSE_UNSEEN). Of one whose events were, only
/// what its thread has noted counts (lacked, slept), and the rest is unseen.
#ifndef WS_SCRIBE_H
#define WS_SCRIBE_H

#include "ws_ledgers.h" // IWYU pragma: export
#include "ws_path.h" // IWYU pragma: export

#define WS_LATE_BURSTS 1024u ///< a power of two
#define WS_SCRIBE_END_NS 1000000000u ///< so long the end of a pool waits for it at most

/// @brief One more pool is judged: have a scribe. A refusal is a warning. @threads  not with pools_lock
void ws_scribe_begin(const ws_settings_t *settings);
/// @brief One pool less: after the last one the scribe examines and writes what is left, and ends. One that
/// does not end within WS_SCRIBE_END_NS, as a disk does not answer or it gets no CPU, is left there, with a
/// warning: it ends later, or is that of the next pool.
/// @param settings  of the pool; NULL: the library is unloaded, or the process ends. That waits for the
///                  scribe without a bound: its code and the rings are about to go
/// @threads  as above
void ws_scribe_end(const ws_settings_t *settings);
/// @brief ws_flight_widen(). Without effect if it begins or ends just now.
void ws_scribe_widen(void);
/// @brief Wait until the late bursts so far are examined, for CATCH_UP_NS at most: a report comes before the
/// last pass. Meanwhile the scribe has the caller's class. Without effect if it begins or ends just now.
void ws_scribe_catch_up(void);
/// @brief In the child of a fork there is none.
void ws_scribe_forget(void);

/// @brief A burst has ended late. @param burst  without its parts
void ws_scribe_late(ws_ledger_room_t *ledger, const ws_late_burst_t *burst);

/// @brief ws_flight_copy(). @return 0; -1: later; an error number: ENODATA = there is no record
int ws_scribe_copy(uint64_t key);

#endif
