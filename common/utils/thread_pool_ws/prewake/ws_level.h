// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_level.h
/// How much pre-wake may do on a machine that may have no time to spare (ws_stats.h: level).
///
///   2 pre-wake --trouble--> 1 spin after bursts --trouble--> 0 sleep at once
///     ^_____a time without trouble_____|  ^_____a time without trouble_____|
/// The time doubles at each fall, up to 16 times the first, and is forgotten after eight of them at the top.
#ifndef WS_LEVEL_H
#define WS_LEVEL_H

#include "ws_prewake_state.h"

/// @brief Lower the level by one, at once. The level rises after @p span_ns without trouble, or after twice
/// the last such time.
void ws_level_fall(ws_prewake_pool_t *its, uint64_t now_ns, uint64_t span_ns);

/// @brief Raise the level by one, if the time without trouble is over.
void ws_level_rise(ws_prewake_pool_t *its, uint64_t now_ns);

/// @brief A spin was, or was not, interrupted by a thread that needed the CPU.
void ws_level_spun(ws_worker_t *worker, bool preempted);

#endif
