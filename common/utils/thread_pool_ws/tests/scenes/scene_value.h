// SPDX-License-Identifier: BSD-3-Clause
/// @file scene_value.h
/// Words of scenes that stand for values: numbers, settings, counters of the statistics.
#ifndef SCENE_VALUE_H
#define SCENE_VALUE_H

#include "../../include/ws_pool.h"

/// @return a number, also "5ms", "20us", "-EAGAIN"
int64_t scene_number(const char *text);

/// @brief Set "workers=2". @return false: there is no such setting
bool scene_setting(ws_settings_t *settings, const char *word);

/// @brief A counter of ws_stats_t, or of ws_worker_stats_t, summed over the workers and the threads outside.
/// @param more  what it has grown by since scene_note()
/// @return false: there is none of that name
bool scene_counter(ws_pool_t *pool, const char *name, bool more, int64_t *count);

/// @brief Keep the counters as they are now.
void scene_note(ws_pool_t *pool);

#endif
