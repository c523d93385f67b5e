// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_observer.h
/// The user's function that is called at events of a worker (settings.observer).
#ifndef WS_OBSERVER_H
#define WS_OBSERVER_H

#include "ws_process.h"

/// Call the observer, which the pool has. @threads  the worker
void ws_observer_call(ws_worker_t *worker, ws_observed_t what);

static inline void ws_observe(ws_worker_t *worker, ws_observed_t what)
{
  if (WS_UNLIKELY(worker->pool->settings.observer != NULL))
    ws_observer_call(worker, what);
}

/// An observer must not call this public function, named @p call.
static inline void ws_not_observing(const char *call)
{
  (void)call;
#ifndef NDEBUG
  WS_REQUIRE(!ws_self()->observing, call, "called by settings.observer, which must not push, wait or stop");
#endif
}

#endif
