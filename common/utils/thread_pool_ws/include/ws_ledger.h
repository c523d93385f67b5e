// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ledger.h
/// Why bursts and phases of a pool were late: longer than settings.deadline_ns, else than 1.25 times the
/// median of their kind. Counted if the pool's settings have deadline_ns, record or report, or while it has
/// a deadline that a user has set with the command tpool-ws.
#ifndef WS_LEDGER_H
#define WS_LEDGER_H

#include <stddef.h> // IWYU pragma: export
#include <stdint.h> // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

struct ws_pool_s;

/// What the time over the limit went to, with what to do about it: docs/tracing.md. A later version may
/// append causes.
typedef enum {
  WS_CAUSE_WAKE, ///< the wake of a worker, or of the joining thread
  WS_CAUSE_CALLED_LATE, ///< a push called the worker later than usual
  WS_CAUSE_NO_CPU, ///< a thread was runnable, and others, or the host, had its CPU
  WS_CAUSE_ASLEEP, ///< a task slept: a mutex, a blocking call, a sleep
  WS_CAUSE_NO_CPU_OR_ASLEEP, ///< one of these two: a sleep of the pool may have been none
  WS_CAUSE_QUOTA, ///< the control group's quota of CPU time was used up
  WS_CAUSE_LONG_TASK, ///< a task longer than the 99th percentile of its kind
  WS_CAUSE_LONGER_WORK, ///< the tasks took longer than usual in sum, and no single one explains it
  WS_CAUSE_MORE_WORK, ///< there were more tasks than usual
  WS_CAUSE_TOO_FEW, ///< bursts of its kind always take longer than the deadline: too few threads, or CPUs
  WS_CAUSE_OTHER_BURST, ///< tasks waited while the pool ran those of another burst
  WS_CAUSE_OTHER_POOL, ///< a wait for another pool, or its threads had the CPU
  WS_CAUSE_SERIAL, ///< threads that push, outside tasks and waits
  WS_CAUSE_STARTED_LATE, ///< the first push of a phase came later than usual
  WS_CAUSE_UNKNOWN,
  WS_CAUSE_UNSEEN, ///< not examined yet, or its events were overwritten before that could be done
  WS_CAUSES
} ws_cause_t;

/// Late bursts of one cause.
typedef struct {
  uint64_t bursts; ///< late ones of which it is the main cause
  uint64_t total_ns, worst_ns; ///< of all late ones: the part that it has of their time over the limit
} ws_cause_stats_t;

/// Bursts of a pool, and the causes of the late ones. A later version may append fields.
typedef struct {
  uint64_t bursts; ///< bursts, and phases where they are marked (ws_trace_slot.h)
  uint64_t late; ///< of these; counts by cause follow within 0.2 s
  ws_cause_stats_t by[WS_CAUSES]; ///< [ws_cause_t] those
  uint64_t left_out; ///< threads of the process, so far, for whose events there was no room: not judged
} ws_ledger_t;

/// @return a few words in English, "long task"; NULL if @p cause is none
static inline const char *ws_cause_name(ws_cause_t cause)
{
  static const char *const names[] = {
      "slow wake",   "called late",  "no CPU",    "asleep in a task", "no CPU or asleep", "quota",
      "long task",   "longer work",  "more work", "too few threads",  "other burst",      "other pool",
      "serial time", "started late", "unknown",   "not examined"};
  return (uint32_t)cause < WS_CAUSES ? names[cause] : NULL;
}

/// @brief ws_pool_ledger() into @p bytes. For callers that do not compile this header.
void ws_pool_ledger_sized(const struct ws_pool_s *pool, ws_ledger_t *ledger, size_t bytes);

/// @brief Read the pool's ledger; all 0 if it has none. Ignores NULL.
/// @threads   any thread, while the pool exists; also after its stop
static inline void ws_pool_ledger(const struct ws_pool_s *pool, ws_ledger_t *ledger)
{
  ws_pool_ledger_sized(pool, ledger, sizeof(*ledger));
}

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
