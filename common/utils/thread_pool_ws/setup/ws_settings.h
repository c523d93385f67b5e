// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_settings.h
/// Check the user's settings, and warn about the first invalid one.
#ifndef WS_SETTINGS_H
#define WS_SETTINGS_H

#include "../pool/ws_types.h"

/// @brief Check every field; warn about the first that is out of range. Rounds queue_capacity up.
/// @return 0 or -EINVAL
int ws_settings_check(ws_settings_t *settings);

/// @brief Write the thread name "<name><index>" of at most 15 characters: the name is cut, the index never.
void ws_thread_name(char out[16], const char *name, uint32_t index);

#endif
