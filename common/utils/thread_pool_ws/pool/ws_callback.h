// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_callback.h
/// The user's functions that a pool calls: settings.warn for one-line messages, settings.observer at events
/// of a worker.
#ifndef WS_CALLBACK_H
#define WS_CALLBACK_H

#include "ws_process.h"

/// @brief Pass a message to settings->warn, or to stderr where that is NULL.
/// @param format  as printf, one line without its end; cut at 255 characters
WS_FOR_FIBERS void ws_warn(const ws_settings_t *settings, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/// @brief Ask about a variable that is set. The first one that is refused in the process gives a warning.
/// @param variable  its name, to its end or to a '='
/// @return whether it must not be read, because the program runs with more rights than its user
bool ws_variable_is_refused(const ws_settings_t *settings, const char *variable);

/// The rights that a real-time class needs. The kernel refuses it with EPERM if one of them is missing.
#define WS_NEEDED_FOR_CLASS                                                                                  \
  "CAP_SYS_NICE or RLIMIT_RTPRIO is needed, and in a control group with cpu.rt_runtime_us a budget there"

/// @brief The default of settings->warn.
void ws_warn_on_stderr(void *unused, const char *message);

/// @brief Call settings.observer, which is not NULL. @threads  the worker
void ws_observer_call(ws_worker_t *worker, ws_observed_t what);

static inline void ws_observe(ws_worker_t *worker, ws_observed_t what)
{
  if (WS_UNLIKELY(worker->pool->settings.observer != NULL))
    ws_observer_call(worker, what);
}

/// An observer must not call this public function, named @p call. If it does, a build without NDEBUG ends the
/// process with a message.
static inline void ws_not_observing(const char *call)
{
  (void)call;
#ifndef NDEBUG
  WS_REQUIRE(!ws_self()->observing, call, "called by settings.observer, which must not push, wait or stop");
#endif
}

#endif
