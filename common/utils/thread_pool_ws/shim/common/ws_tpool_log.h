// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tpool_log.h
/// What the pool writes on stderr in OAI's programs.
#ifndef WS_TPOOL_LOG_H
#define WS_TPOOL_LOG_H

/// @brief Write one line, in one piece. The first of a process follows an end of line: OAI's log ends its
/// lines with an escape sequence that resets the colour, and leaves that at the beginning of the next one.
/// @param format  without the end of line
/// @threads       any
__attribute__((format(printf, 1, 2))) void ws_tpool_say(const char *format, ...);

/// @brief ws_settings_t.warn for what is the same for all pools of a process: each message is written once.
void ws_tpool_warn_once(void *unused, const char *message);

/// @brief ws_settings_t.warn for what concerns one pool.
void ws_tpool_warn(void *unused, const char *message);

#endif
