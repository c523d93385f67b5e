// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_level.h
/// How much pre-wake may do on a machine that may have no time to spare (ws_stats.h: level).
///
///   2 pre-wake --trouble--> 1 looks after a burst --trouble--> 0 sleeps at once
///     ^_____a time without trouble_____|  ^_____a time without trouble_____|
/// The time doubles at each fall, up to 16 times the first, and is forgotten after eight of them at the top.
#ifndef WS_LEVEL_H
#define WS_LEVEL_H

#include "../pool/ws_types.h"

/// @brief One level down, at once. It rises after @p span_ns without trouble, or twice as long as the last
/// time.
void ws_level_fall(struct ws_pool_s *pool, uint64_t now_ns, uint64_t span_ns);

/// @brief Time has passed: one level up, if it was without trouble. For who has the rhythm.
void ws_level_rise(struct ws_pool_s *pool, uint64_t now_ns);

/// @return the time that the worker may spin at @p now_ns, at most 0 = none. What spin_cpu_max_percent has
/// granted since the last time and was not used is saved up, for 10 ms of that share
int64_t ws_level_allow(ws_worker_t *worker, uint64_t now_ns);

/// @return what it will be allowed at @p later_ns, about
int64_t ws_level_forecast(const ws_worker_t *worker, uint64_t later_ns);

/// @brief It has spun for @p spun_ns. Time in which others had the CPU counts, but only so far: a process
/// that was stopped does not owe for it.
void ws_level_pay(ws_worker_t *worker, uint64_t spun_ns);

/// @brief A spin was, or was not, interrupted by somebody who needed the CPU.
void ws_level_spun(ws_worker_t *worker, bool preempted);

#endif
