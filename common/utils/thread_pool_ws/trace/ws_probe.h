// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_probe.h
/// WS_PROBE(event, fields...): an event for the rings (record/) and for LTTng, where one of them has a table.
/// Else the fields are not even evaluated. WS_PROBE_LTTNG: for LTTng alone, nothing in a build without.
///
/// LTTng's provider of the pool's events is a library of its own, libthread_pool_ws_lttng.so (ws_tp.c). A
/// program loads it only for traces, so that a program which links the pool has none of lttng-ust's threads.
/// The provider hands over one table of functions. The pool needs no header of LTTng.
#ifndef WS_PROBE_H
#define WS_PROBE_H

#include "../base/ws_atomic.h"
#include "../base/ws_base.h"
#include "../include/ws_trace_slot.h"

/// Raise the number when an event changes: a provider of another build is then not found.
#define WS_PROVIDER_TABLE ws_provider_table_5
#define WS_PROVIDER_NAME "ws_provider_table_5"
#define WS_PROVIDER_LIBRARY "libthread_pool_ws_lttng.so.0"

#define WS_EVENT_TASK (uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg, uintptr_t group)
#define WS_EVENT_PHASE (uint32_t frame, uint32_t slot, uint32_t id)
#define WS_EVENT_PHASE_END (uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks)

/// The events: X(name, parameters, their names...). ws_tp.h describes them to LTTng, docs/tracing.md to
/// users.
// clang-format off
#define WS_EVENTS(X) \
  X(pool_start, (uint32_t pool, const char *name, uint32_t workers, uint32_t cpus, uint32_t worker_cpus), \
    pool, name, workers, cpus, worker_cpus) \
  X(pool_stop, (uint32_t pool), pool) \
  X(push, WS_EVENT_TASK, pool, worker, func, arg, group) \
  X(run_begin, WS_EVENT_TASK, pool, worker, func, arg, group) \
  X(run_as, (uintptr_t func, uintptr_t arg), func, arg) \
  X(run_end, (uint32_t pool, int32_t worker, uintptr_t arg), pool, worker, arg) \
  X(decide, (uint32_t pool, int32_t worker, const char *why, uint32_t wakes), pool, worker, why, wakes) \
  X(wake, (uint32_t pool, int32_t worker, int32_t by), pool, worker, by) \
  X(steal, (uint32_t pool, int32_t worker, int32_t victim), pool, worker, victim) \
  X(complete, (uintptr_t group, uint32_t units), group, units) \
  X(join_begin, (uint32_t pool, int32_t worker, uintptr_t group), pool, worker, group) \
  X(join_end, (uint32_t pool, int32_t worker, uintptr_t group, uint32_t waits), pool, worker, group, waits) \
  X(park, (uint32_t pool, int32_t worker), pool, worker) \
  X(unpark, (uint32_t pool, int32_t worker, uint32_t by_timer), pool, worker, by_timer) \
  X(prewake, (uint32_t pool, int32_t worker, uint32_t workers, uint64_t rise_ns, uint64_t burst_ns), \
    pool, worker, workers, rise_ns, burst_ns) \
  X(late, (uint32_t pool, int32_t worker, const char *cause, uint64_t late_ns), \
    pool, worker, cause, late_ns) \
  X(late_burst, (uint32_t pool, const char *cause, uint64_t over_ns), pool, cause, over_ns) \
  X(symbol_processing_begin, WS_EVENT_PHASE, frame, slot, id) \
  X(ulsch_decoding_begin, WS_EVENT_PHASE, frame, slot, id) \
  X(symbol_processing_end, WS_EVENT_PHASE_END, frame, slot, id, tasks) \
  X(ulsch_decoding_end, WS_EVENT_PHASE_END, frame, slot, id, tasks)
// clang-format on

#define WS_EVENT_MEMBER(name, parameters, ...) void(*name) parameters;
/// What the rings take:
///   RUN RAN JOIN JOINED  small: the pool; address: of RUN the task's function, else the group
///   PUSH                 small: the pool; address: the group. In a ring: so many tasks one after the other
///   PARK UNPARK          small: by_timer of the event unpark; address: ns since the call, 0 = there was none
///   WAKE                 before the call; address: the worker's pool << 16, and its index
///   PHASE PHASE_END      small: which; address: frame, slot, id or tasks, 16 bits each
// clang-format off
typedef enum {
  WS_NOTE_RUN = 1, WS_NOTE_RAN, WS_NOTE_PUSH, WS_NOTE_JOIN, WS_NOTE_JOINED, WS_NOTE_PARK, WS_NOTE_UNPARK,
  WS_NOTE_WAKE, WS_NOTE_PHASE, WS_NOTE_PHASE_END
} ws_note_t;
// clang-format on

struct ws_pool_s;

/// One function for each event, with its fields. NULL = nothing takes it.
typedef struct {
  /// For the rings. pool: that the event is about; NULL = none
  void (*note)(const struct ws_pool_s *pool, ws_note_t kind, uint32_t small, uint64_t address,
               uintptr_t func);
  /// @return whether a session records the event run_begin
  bool (*records)(void);
  WS_EVENTS(WS_EVENT_MEMBER)
} ws_provider_t;

/// S const ws_provider_t; NULL = nothing takes events.
extern __attribute__((visibility("hidden"))) ws_aptr_t ws_provider;

/// @return the table; NULL = there is none
static inline const ws_provider_t *ws_provider_events(void)
{
  return ws_load_acquire(&ws_provider); // [edge PROVIDER acquire]
}

/// @return whether events of each pool have a taker. The rings take those of pools that are judged
static inline bool ws_provider_takes_all(void)
{
  const ws_provider_t *events = ws_provider_events();
  return !events || events->push;
}

/// @brief Find the provider, once in the process, if it is not there from the start (LD_PRELOAD) and the
/// environment asks for it (TPOOL_WS_TRACE=1). A failure is reported on stderr.
/// @threads   any; the first call may take milliseconds, and waits for LTTng's session daemon if one runs
void ws_provider_find(void);

/// Whether an event might be recorded: ask before fields are computed for it. One load, and a branch that is
/// not taken without a table. On the simulated machine no step, so that stored seeds stay what they are. With
/// WS_UNTRACED, for comparison, nothing.
#ifdef WS_UNTRACED
#define WS_PROBE_SEEN() false
#elif defined(WS_SIMULATED)
#define WS_PROBE_SEEN() WS_UNLIKELY(ws_provider.v != NULL)
#else
#define WS_PROBE_SEEN() WS_UNLIKELY(ws_hint_load(&ws_provider) != NULL)
#endif

#define WS_PROBE(event, ...)                                                                                 \
  do {                                                                                                       \
    if (WS_PROBE_SEEN() && ws_provider_events()->event)                                                      \
      ws_provider_events()->event(__VA_ARGS__);                                                              \
  } while (0)
/// For the rings, beside WS_PROBE(). @p pool  that the event is about. @p func  of PUSH
#define WS_NOTE(pool, kind, small, address, func) WS_PROBE(note, pool, kind, small, address, func)
#ifdef WS_LTTNG
#define WS_PROBE_LTTNG WS_PROBE
#else
#define WS_PROBE_LTTNG(...)                                                                                  \
  while (false)                                                                                              \
  WS_PROBE(__VA_ARGS__) // the fields are used
#endif

/// @param phase  one that ws_trace_slot.h names
void ws_probe_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);
void ws_probe_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks);

#endif
