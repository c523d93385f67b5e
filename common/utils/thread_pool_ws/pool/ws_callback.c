// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_callback.c
/// ws_callback.h.
#include "ws_callback.h"

#include <stdarg.h>
#include <sys/auxv.h>

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

bool ws_variable_is_refused(const ws_settings_t *settings, const char *variable)
{
  if (!getauxval(AT_SECURE))
    return false;
  if (ws_hint_add(&ws_process.refusals, 1) == 0)
    ws_warn(settings,
            "%.*s: ignored, like all variables TPOOL_WS_..., because the program has file capabilities or is"
            " set-user-ID. Use its list or its settings, or give it capabilities by systemd's"
            " AmbientCapabilities=",
            (int)strcspn(variable, "="), variable);
  return true;
}

void ws_observer_call(ws_worker_t *worker, ws_observed_t what)
{
  const ws_settings_t *settings = &worker->pool->settings;
  ws_observation_t observation = {.what = what, .worker = worker->index};
  ws_os_place(&observation.cpu, &observation.node);
  ws_self()->observing = true;
  settings->observer(settings->observer_arg, &observation);
  ws_self()->observing = false;
}
