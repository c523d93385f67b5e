// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_warn.h
/// One-line messages to the user of a pool.
#ifndef WS_WARN_H
#define WS_WARN_H

#include "../base/ws_base.h"
#include "../include/ws_pool.h"

/// @brief Pass a message to settings->warn, or to stderr where that is NULL.
/// @param format  as printf, one line without its end; cut at 255 characters
WS_FOR_FIBERS void ws_warn(const ws_settings_t *settings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// The rights that a real-time class needs. The kernel refuses it with EPERM if one of them is missing.
#define WS_NEEDED_FOR_CLASS                                                                                  \
  "CAP_SYS_NICE or RLIMIT_RTPRIO is needed, and in a control group with cpu.rt_runtime_us a budget there"

/// @brief The default of settings->warn.
void ws_warn_on_stderr(void *unused, const char *message);

#endif
