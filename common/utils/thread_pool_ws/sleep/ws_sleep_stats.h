// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sleep_stats.h
/// The statistics of this room.
#ifndef WS_SLEEP_STATS_H
#define WS_SLEEP_STATS_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// @brief Set the counters of this room; to outside.wakes_sent, which is set, add what no queue counts.
void ws_sleep_add_stats(const struct ws_pool_s *pool, ws_stats_t *stats);

/// @brief Fill in the worker's state, and its time in each.
/// @param running  false = the pool has stopped: the state, and the time in the present one, are left out, as
/// for a worker whose thread has not begun
void ws_sleep_add_states(const ws_worker_t *worker, bool running, ws_worker_stats_t *stats);

#endif
