// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_live.h
/// Why was this burst late: the record, and the ledger. A plug-in: other rooms call the functions below, and
/// make events (ws_probe.h). ws_live_null.c links in its place.
///
///   record   each thread keeps its last events in a ring (ws_rings.h), in a file if settings.record asks
///   ledger   at the end of a late burst or phase the joining thread finds from the rings what the burst
///            waited for (ws_path.c), and counts that by cause (ws_ledger.c)
#ifndef WS_LIVE_H
#define WS_LIVE_H

#include "../base/ws_histogram.h" // IWYU pragma: export
#include "../pool/ws_types.h" // IWYU pragma: export

/// @brief The pool is made: if its settings ask for the record, the ledger or a report, the process's events
/// go to the rings from now on. What fails is a warning, and the pool runs without.
void ws_live_begin(const struct ws_pool_s *pool);

/// @brief Copy the rings beside the record if a late burst has asked for it. That wakes the guard on
/// @p word, whose memory may be gone. @threads guards
void ws_live_look(ws_au32_t *word);

/// @brief The control group's quota was used up since the guard's last look. @threads guards
void ws_live_throttled(void);

/// @brief Have a guard copy the rings; without a user at most so often an hour. @return false: they are in no
/// file, or it does so now
bool ws_live_copy(bool by_user);

/// @return whether the process's bursts are judged
bool ws_live_judges(void);

/// @brief From now on the pool's bursts are judged, though its settings did not ask. @return false: no memory
bool ws_live_judge(struct ws_pool_s *pool);

/// The deadline of a pool's bursts, and how late the late ones have ended.
typedef struct {
  ws_au64_t deadline_ns; ///< S as in its settings
  ws_histogram_t ends; ///< of late bursts, over their limits. If two end at once, one may get lost
} ws_judged_t;
ws_judged_t *ws_live_judged(const struct ws_pool_s *pool);

/// @brief Make a file that only this user can open, with all its room, and map it.
/// @param memory  the mapping, of zeros; NULL if that fails
/// @return 0 or an error number: what had that name is as it was
int ws_file_map(const char *path, size_t bytes, void **memory);

#endif
