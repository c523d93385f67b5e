// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rhythm.h
/// The pattern that a pool has learnt from its bursts. One thread a burst learns, under a lock for which no
/// thread waits. All workers plan with a copy of what that thread has published, without a lock.
///
/// Publication  A sequence lock (Boehm, Can Seqlocks Get Along With Programming Language Memory Models?, MSPC
///              2012): the sequence is odd while words are written, and a reader that saw it change reads
///              again. The words of the copy are atomic.
#ifndef WS_RHYTHM_H
#define WS_RHYTHM_H

#include "ws_prewake_state.h"

/// @brief Learn from an arrival that was not learnt from yet, and from phases that should have come by
/// @p now_ns. After a time without trouble, raise the level. If another thread does this, return at once.
void ws_rhythm_update(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief Copy what was published last. @param phases  these, too
/// @return false = it is being written, or nothing is known
bool ws_rhythm_read(const ws_prewake_pool_t *its, bool phases, ws_outlook_t *outlook);

/// @return when the next burst of @p phase after @p now_ns is expected
uint64_t ws_rhythm_next(const ws_outlook_t *outlook, uint32_t phase, uint64_t now_ns);

#endif
