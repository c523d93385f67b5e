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

/// The caller's function must not be called by an observer.
static inline void ws_not_observing(void)
{
#ifndef NDEBUG
  const bool an_observer_pushes_or_waits = ws_self()->observing;
  WS_ASSERT(!an_observer_pushes_or_waits);
#endif
}

#endif
