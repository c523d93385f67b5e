// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_copies.h
/// The file in which the rings are, and copies of it.
#ifndef WS_COPIES_H
#define WS_COPIES_H

#include "ws_rings.h" // IWYU pragma: export

#define WS_COPIES 8u ///< at most, in an hour; those of the next replace them

extern struct ws_copies_s {
  char path[WS_RECORD_PATH_MAX + 60]; ///< "" = there is no file. A copy's ends with a number, too
  ws_aptr_t guard; ///< S futex of the guard that was made last
  ws_au64_t after; ///< S a late burst that ends after that time asks for a copy; or WS_COPY_*
} ws_copies;
#define WS_COPY_ASKED UINT64_MAX
#define WS_COPY_NONE (UINT64_MAX - 1) ///< there is no file, or a guard copies it

/// @brief Make the file that settings->record asks for, which only this user can open, with all its room, and
/// map it. A failure is a warning. @return NULL: there is none
ws_event_file_t *ws_copies_begin(const ws_settings_t *settings);

/// @brief ws_flight_look(), if there are rings. @threads guards
void ws_copies_look(ws_au32_t *word);

/// @brief ws_flight_copy().
bool ws_copies_ask(bool by_user);

#endif
