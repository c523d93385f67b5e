// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_warn.c
/// ws_warn.h.
#include "ws_warn.h"

#include <stdarg.h>
#include <stdio.h>

void ws_warn_on_stderr(void *unused, const char *message)
{
  (void)unused;
  fprintf(stderr, "thread_pool_ws: %s\n", message);
}

void ws_warn(const ws_settings_t *settings, const char *format, ...)
{
  char message[256];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof(message), format, args);
  va_end(args);
  (settings->warn ? settings->warn : ws_warn_on_stderr)(settings->warn_arg, message);
}
