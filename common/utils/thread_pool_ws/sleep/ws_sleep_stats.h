// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sleep_stats.h
/// What this room tells the statistics (ws_stats.h).
#ifndef WS_SLEEP_STATS_H
#define WS_SLEEP_STATS_H

#include "../pool/ws_types.h"

/// @brief Fill in the counters of this room.
void ws_sleep_add_stats(const struct ws_pool_s *pool, ws_stats_t *stats);

/// @brief Fill in the worker's state, and its time in each.
void ws_sleep_add_states(const ws_worker_t *worker, bool running, ws_worker_stats_t *stats);

#endif
