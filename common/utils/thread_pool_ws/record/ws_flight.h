// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_flight.h
/// Why was this burst late: the record, and the ledger. A plug-in: other rooms call the functions below, and
/// make events (ws_probe.h). ws_record_null.c links in its place.
///
///   record   each thread keeps its last events in a ring (ws_rings.h). If settings.record asks, the scribe
///            writes them to a file (ws_scribe.h, ws_file.h)
///   ledger   the joining thread sees that a burst or phase has ended late (ws_burst.h). The scribe finds
///            from the rings what the burst waited for (ws_path.h), and counts that by cause (ws_ledgers.h)
#ifndef WS_FLIGHT_H
#define WS_FLIGHT_H

#include "../base/ws_histogram.h" // IWYU pragma: export
#include "../include/ws_journal.h" // IWYU pragma: export
#include "../pool/ws_types.h" // IWYU pragma: export

/// @brief The pool is made: if its settings ask for the record, the ledger or a report, its events go to the
/// rings from now on, and its bursts are judged. What fails is a warning, and the pool runs without.
/// @threads  the creator, before the pool has threads; not with the lock of pools
void ws_flight_begin(struct ws_pool_s *pool);

/// @brief The pool ends, or was not made. If it was the last one that is judged, wait until the scribe has
/// written what is left: for 1 s at most, while the library is unloaded without a bound (ws_scribe.h).
/// @threads  the thread that frees the pool; not with the lock of pools
void ws_flight_end(struct ws_pool_s *pool);

/// @brief Let the scribe run wherever the caller may, if that is on more CPUs. It has inherited those of the
/// thread that made it, mostly the creator of the first pool that is judged, which may be pinned to one CPU
/// and keep that busy.
/// @threads  each pool's guard, once. Does not wait: if the scribe begins or ends just then, nothing happens
void ws_flight_widen(void);

/// @brief Wait until the pool's late bursts so far are examined, at most 0.1 s.
void ws_flight_catch_up(const struct ws_pool_s *pool);

/// @brief Have the scribe copy the record for a user; does not wait for it.
/// @param key  of the request: not 0, and that of no other one
/// @return NULL: it is done; why not; WS_FLIGHT_LATER: ask again. @threads one at a time
const char *ws_flight_copy(uint64_t key);
#define WS_FLIGHT_LATER "later"

/// @brief From now on the pool's bursts are judged by this deadline, though its settings may not have asked.
/// @param deadline_ns  as settings.deadline_ns; 0 = as AUTO if its settings ask, else they are not judged
/// @return false: no memory, and the pool is not judged
/// @threads  one at a time: two first calls would make two ledgers. The pool's page calls with its mutex
bool ws_flight_judge(struct ws_pool_s *pool, uint64_t deadline_ns);

/// @return the deadline by which the pool's bursts are judged now, as settings.deadline_ns; 0 also if they
///         are not judged
uint64_t ws_flight_deadline_ns(const struct ws_pool_s *pool);

/// @return how late the pool's late bursts have ended: over their limits. NULL = they were never judged. It
/// is good as long as the pool
const ws_histogram_t *ws_flight_ends(const struct ws_pool_s *pool);

#define WS_FLIGHT_WORST 3u
/// @brief Read the pool's worst late bursts of the last day, the worst first, in the journals of the folder:
/// files, which may take long.
/// @return how many there are, at most WS_FLIGHT_WORST; 0 also without a record, or if no journal can be read
uint32_t ws_flight_worst(const struct ws_pool_s *pool, ws_journal_burst_t worst[WS_FLIGHT_WORST]);

#endif
