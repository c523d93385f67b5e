// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_probe.h
/// WS_PROBE(event, pool, fields...): an event for two sinks, the rings (record/) and LTTng, if one of them
/// has a table. Else the fields are not even evaluated. What the rings do not take is nothing in a build
/// without LTTng.
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
#define WS_PROVIDER_TABLE ws_provider_table_8
#define WS_PROVIDER_NAME "ws_provider_table_8"
#define WS_PROVIDER_LIBRARY "libthread_pool_ws_lttng.so.0"

/// What the rings take of an event: kind, small, address.
///   RUN RAN JOIN JOINED  small: the pool; address: of RUN the task's function, else the group
///   PUSH                 small: the pool; address: the group. In a ring small is how many such pushes came
///                        one after the other
///   PARK UNPARK          small: of UNPARK 0 = called, 1 = by its timer, 2 = it did not sleep; address: ns
///                        since the call, 0 = there was none
///   WAKE                 before the call; address: the worker's pool << 16, and its index
///   PHASE PHASE_END      small: which; address: frame, slot, id or tasks, 16 bits each
///   SLEEP SLEPT          in a wait; SLEEP also of a parked worker. small: the pool
///   USED                 in a ring. small: how often its thread has slept; address: the CPU time used, in ns
// clang-format off
typedef enum {
  WS_NOTE_NONE, WS_NOTE_RUN, WS_NOTE_RAN, WS_NOTE_PUSH, WS_NOTE_JOIN, WS_NOTE_JOINED, WS_NOTE_PARK,
  WS_NOTE_UNPARK, WS_NOTE_WAKE, WS_NOTE_PHASE, WS_NOTE_PHASE_END, WS_NOTE_SLEEP, WS_NOTE_SLEPT,
  WS_NOTE_USED
} ws_note_t;

/// The events: X(name, (fields), (their names), kind, small, address for the rings, func of PUSH).
/// ws_tp.h describes them to LTTng, docs/tracing.md to users.
#define WS_EVENTS(X) \
  X(pool_start, (uint32_t pool, const char *name, uint32_t workers, uint32_t cpus, uint32_t worker_cpus), \
    (pool, name, workers, cpus, worker_cpus), NONE, 0, 0) \
  X(pool_stop, (uint32_t pool), (pool), NONE, 0, 0) \
  X(push, (WS_EVENT_TASK), (pool, worker, func, arg, group), PUSH, pool, group, func) \
  X(run_begin, (WS_EVENT_TASK), (pool, worker, func, arg, group), RUN, pool, func) \
  X(run_as, (uintptr_t func, uintptr_t arg), (func, arg), NONE, 0, 0) \
  X(run_end, (uint32_t pool, int32_t worker, uintptr_t arg, uintptr_t group), \
    (pool, worker, arg, group), RAN, pool, group) \
  X(decide, (uint32_t pool, int32_t worker, const char *why, uint32_t wakes), (pool, worker, why, wakes), \
    NONE, 0, 0) \
  X(wake, (uint32_t pool, int32_t worker, int32_t by), (pool, worker, by), \
    WAKE, 0, (uint64_t)pool << 16 | (uint32_t)worker) \
  X(steal, (uint32_t pool, int32_t worker, int32_t victim), (pool, worker, victim), NONE, 0, 0) \
  X(complete, (uintptr_t group, uint32_t units), (group, units), NONE, 0, 0) \
  X(join_begin, (uint32_t pool, int32_t worker, uintptr_t group), (pool, worker, group), JOIN, pool, group) \
  X(join_end, (uint32_t pool, int32_t worker, uintptr_t group, uint32_t waits), \
    (pool, worker, group, waits), JOINED, pool, group) \
  X(sleep_begin, (uint32_t pool, int32_t worker), (pool, worker), SLEEP, pool, 0) \
  X(sleep_end, (uint32_t pool, int32_t worker), (pool, worker), SLEPT, pool, 0) \
  X(idle, (uint32_t pool, int32_t worker), (pool, worker), USED, 0, 0) \
  X(park, (uint32_t pool, int32_t worker), (pool, worker), PARK, 0, 0) \
  X(unpark, (uint32_t pool, int32_t worker, uint32_t by_timer, uint64_t since_call_ns), \
    (pool, worker, by_timer, since_call_ns), UNPARK, by_timer, since_call_ns) \
  X(prewake, (uint32_t pool, int32_t worker, uint32_t workers, uint64_t rise_ns, uint64_t burst_ns), \
    (pool, worker, workers, rise_ns, burst_ns), NONE, 0, 0) \
  X(late_burst, (uint32_t pool, const char *cause, uint64_t over_ns), (pool, cause, over_ns), NONE, 0, 0) \
  X(symbol_processing_begin, (WS_EVENT_PHASE), (frame, slot, id), PHASE, WS_TRACE_SYMBOL_PROCESSING, \
    WS_SLOT_WORD(id)) \
  X(ulsch_decoding_begin, (WS_EVENT_PHASE), (frame, slot, id), PHASE, WS_TRACE_ULSCH_DECODING, \
    WS_SLOT_WORD(id)) \
  X(symbol_processing_end, (WS_EVENT_PHASE, uint32_t tasks), (frame, slot, id, tasks), \
    PHASE_END, WS_TRACE_SYMBOL_PROCESSING, WS_SLOT_WORD(tasks)) \
  X(ulsch_decoding_end, (WS_EVENT_PHASE, uint32_t tasks), (frame, slot, id, tasks), \
    PHASE_END, WS_TRACE_ULSCH_DECODING, WS_SLOT_WORD(tasks))
// clang-format on
#define WS_EVENT_TASK uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg, uintptr_t group
#define WS_EVENT_PHASE uint32_t frame, uint32_t slot, uint32_t id
#define WS_SLOT_WORD(last) ((uint64_t)(frame & 0xffff) << 32 | (slot & 0xffff) << 16 | ((last)&0xffff))
#define WS_WORDS(...) __VA_ARGS__ ///< without the parentheses

#define WS_EVENT_MEMBER(name, fields, ...) void (*name)(WS_WORDS fields);

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

/// @return whether events of each pool have a taker: LTTng. The rings take those of pools that are judged.
///         Call it where WS_PROBE_SEEN(): without a table it is true
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

#ifdef WS_LTTNG
#define WS_HAS_LTTNG true
#else
#define WS_HAS_LTTNG false
#endif
#define WS_FIRST_TWO(one, two, ...) one, two
#define WS_EMIT(name, fields, names, kind, small, ...)                                                       \
  enum { WS_RINGS_TAKE_##name = WS_NOTE_##kind != WS_NOTE_NONE };                                            \
  static inline void ws_emit_##name(const struct ws_pool_s *of, WS_WORDS fields)                             \
  {                                                                                                          \
    const ws_provider_t *sink = ws_provider_events();                                                        \
    if (WS_HAS_LTTNG && sink->name)                                                                          \
      sink->name names;                                                                                      \
    if (WS_RINGS_TAKE_##name && sink->note) /* last: to judge a late burst takes time */                     \
      sink->note(of, WS_NOTE_##kind, small, WS_FIRST_TWO(__VA_ARGS__, 0, 0));                                \
  }
WS_EVENTS(WS_EMIT)

/// @param of  the pool that the event is about; NULL = none
#define WS_PROBE(event, of, ...)                                                                             \
  do {                                                                                                       \
    if ((WS_HAS_LTTNG || WS_RINGS_TAKE_##event != 0) && WS_PROBE_SEEN())                                     \
      ws_emit_##event(of, __VA_ARGS__);                                                                      \
  } while (0)

/// @brief Record the event of a phase that begins, or has ended. @param phase  one that ws_trace_slot.h names
/// @param tasks  that the thread has pushed in it
void ws_probe_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id);
void ws_probe_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks);

#endif
