// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_decide.c
/// ws_decide.h.
#include "ws_decide.h"

#include "../include/ws_pool.h"

/// A woken worker wakes so many others, where as many tasks are queued: so a burst has its workers after a
/// number of steps that grows with the logarithm of their number.
#define SPREAD 2u

ws_decision_t ws_decide(const ws_snapshot_t *snapshot)
{
  const uint32_t searching = snapshot->searching;
  const bool will_find = snapshot->queued > snapshot->taken; // a worker that is called now
  const uint32_t room = snapshot->limit > snapshot->working ? snapshot->limit - snapshot->working : 0;
  // no wake is lost: a thread that leaves room asks again, and the guard looks for blocked workers
  if (room == 0 && snapshot->trigger != WS_TRIGGER_ALL)
    return (ws_decision_t){0, WS_DECIDED_CAP};
  switch (snapshot->trigger) {
    case WS_TRIGGER_TASK:
      if (searching == 0) // at least one worker looks at each task
        return (ws_decision_t){1, WS_DECIDED_TASK};
      // more for a burst, until the first worker runs that was called: it calls others, too
      if (!will_find || searching >= snapshot->calls_a_wake)
        break;
      return snapshot->may_spin ? (ws_decision_t){1, WS_DECIDED_SPREAD} : (ws_decision_t){0, WS_DECIDED_CAP};
    case WS_TRIGGER_FOUND: // one at a time: a wake takes as long as a short task
      if (snapshot->woken < (snapshot->called ? SPREAD : 1)
          && (will_find || (searching == 0 && snapshot->queued > 0)))
        return (ws_decision_t){1, WS_DECIDED_SPREAD};
      break;
    case WS_TRIGGER_HINT: { // as many as the burst needs, less those that look already
      const uint64_t wanted =
          snapshot->queued == WS_AS_MANY_AS_PAY ? snapshot->calls_a_wake : snapshot->queued;
      if (wanted > searching)
        return (ws_decision_t){(uint32_t)ws_least(wanted - searching, room), WS_DECIDED_HINT};
      break;
    }
    case WS_TRIGGER_STUCK: // the workers that were woken, or relied on, are blocked or have no CPU
      return (ws_decision_t){(uint32_t)ws_least(snapshot->queued, room), WS_DECIDED_STUCK};
    case WS_TRIGGER_TIMER: // it would only spin: without a CPU of its own it sleeps on
      return snapshot->may_spin ? (ws_decision_t){1, WS_DECIDED_TIMER} : (ws_decision_t){0, WS_DECIDED_CAP};
    case WS_TRIGGER_ALL: // each must look at the pool's state, or at its mode
      return (ws_decision_t){UINT32_MAX, WS_DECIDED_ALL};
  }
  return (ws_decision_t){0, WS_DECIDED_ENOUGH};
}

const char *ws_decided_name(ws_decided_t why)
{
  static const char *const names[WS_DECISIONS] = {
      [WS_DECIDED_TASK] = "task",   [WS_DECIDED_SPREAD] = "spread", [WS_DECIDED_HINT] = "hint",
      [WS_DECIDED_STUCK] = "stuck", [WS_DECIDED_TIMER] = "timer",   [WS_DECIDED_ALL] = "all",
      [WS_DECIDED_CAP] = "cap",     [WS_DECIDED_ENOUGH] = "enough",
  };
  return names[why];
}
