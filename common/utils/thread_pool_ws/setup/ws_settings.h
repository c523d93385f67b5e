// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_settings.h
/// Check the user's settings, and warn about the first invalid one.
#ifndef WS_SETTINGS_H
#define WS_SETTINGS_H

#include "../pool/ws_types.h"

/// @brief Copy a caller's settings, of another size maybe; fields that the caller's lack get their defaults.
/// @return 0; -EINVAL with a warning if their size is that of no version, or a field beyond @p own is set
int ws_settings_take(ws_settings_t *own, const ws_settings_t *given);

/// @brief Check every field; warn about the first that is out of range. Rounds queue_capacity up.
/// @return 0 or -EINVAL
int ws_settings_check(ws_settings_t *settings);

/// @brief Write the thread name "<name><index>" of at most 15 characters: the name is cut, the index never.
void ws_thread_name(char out[16], const char *name, uint32_t index);

#endif
