// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_decide.h
/// The one decision: how many sleeping workers a trigger wakes, and why. Which workers: pick() in ws_wake.c.
#ifndef WS_DECIDE_H
#define WS_DECIDE_H

#include "../base/ws_base.h" // IWYU pragma: export
#include "../include/ws_stats.h"

/// What has happened.
typedef enum {
  /// a task was pushed, or a queued one could not have a worker until now, and no worker searches; or a task
  /// of a burst was pushed while some do
  WS_TRIGGER_TASK,
  WS_TRIGGER_FOUND, ///< a worker has found a task, and was the last searcher, or was woken by another thread
  WS_TRIGGER_HINT, ///< a hint
  WS_TRIGGER_STUCK, ///< the guard sees tasks that no worker reaches
  WS_TRIGGER_TIMER, ///< the worker's own timer has fired: for a burst, or because a hot worker tries again
  WS_TRIGGER_ALL ///< the pool has stopped, or has become hot
} ws_trigger_t;

/// What the pool knows when the trigger comes.
typedef struct {
  ws_trigger_t trigger;
  /// a CPU is left for one more worker that spins, or that may find no task; of a timer: for that worker
  bool may_spin;
  bool may_stop; ///< a worker may be woken that stops the producer: it is pinned to the producer's CPU
  bool called; ///< of a found task: another thread has woken the worker
  uint32_t woken; ///< of a found task: workers that the worker has woken since
  uint32_t working; ///< workers awake, less those that block or get no CPU
  uint32_t limit; ///< the cap: workers that may be awake and not blocked
  uint32_t searching; ///< workers that will look at the queues
  uint32_t calls_a_wake; ///< calls that the caller can make until the first worker runs that it has called
  /// tasks, about, that others will have taken when a worker that is called now begins: one for each
  /// searcher, and for each thread at work as many as it runs in the time of a wake
  uint64_t taken;
  /// tasks, about: at least 1 if there is one. Of a hint: workers that shall search, or WS_AS_MANY_AS_PAY
  uint64_t queued;
} ws_snapshot_t;

typedef struct {
  uint32_t wakes; ///< workers to wake now; UINT32_MAX = all
  ws_decided_t why;
} ws_decision_t;

/// @brief Decide. A pure function of @p snapshot. For a task, found or pushed, and for a timer it wakes one
/// worker at most: a caller that may need more asks again.
ws_decision_t ws_decide(const ws_snapshot_t *snapshot);

/// @return a word in English: "task", "cap"
const char *ws_decided_name(ws_decided_t why);

#endif
