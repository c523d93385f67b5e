// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tp.h
/// LTTng-UST provider oai_tpool_ws: one tracepoint an event. Included by ws_tp.c only; LTTng's own headers
/// read it several times, hence the unusual guard.
///
/// Fields: pool is the pool's id in the process; worker the index of the worker that the event is about, -1 =
/// a thread that is none; func, arg and group name a task. docs/tracing.md describes when each event is
/// recorded.
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER oai_tpool_ws
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "ws_tp.h"

#if !defined(WS_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WS_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

// clang-format off
LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, pool_start,
  LTTNG_UST_TP_ARGS(uint32_t, pool, const char *, name, uint32_t, workers, uint32_t, cpus,
                    uint32_t, worker_cpus),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_string(name, name)
    lttng_ust_field_integer(uint32_t, workers, workers)
    lttng_ust_field_integer(uint32_t, cpus, cpus)
    lttng_ust_field_integer(uint32_t, worker_cpus, worker_cpus)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, pool_stop,
  LTTNG_UST_TP_ARGS(uint32_t, pool),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(oai_tpool_ws, task,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, func, uintptr_t, arg, uintptr_t, group),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer_hex(uint64_t, func, func)
    lttng_ust_field_integer_hex(uint64_t, arg, arg)
    lttng_ust_field_integer_hex(uint64_t, group, group)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, task, oai_tpool_ws, push,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, func, uintptr_t, arg, uintptr_t, group))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, task, oai_tpool_ws, run_begin,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, func, uintptr_t, arg, uintptr_t, group))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, run_as,
  LTTNG_UST_TP_ARGS(uintptr_t, func, uintptr_t, arg),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer_hex(uint64_t, func, func)
    lttng_ust_field_integer_hex(uint64_t, arg, arg)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, run_end,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, arg),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer_hex(uint64_t, arg, arg)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, wake,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, int32_t, by),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer(int32_t, by, by)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, steal,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, int32_t, victim),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer(int32_t, victim, victim)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, complete,
  LTTNG_UST_TP_ARGS(uintptr_t, group, uint32_t, units),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer_hex(uint64_t, group, group)
    lttng_ust_field_integer(uint32_t, units, units)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(oai_tpool_ws, join,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, group),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer_hex(uint64_t, group, group)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, join, oai_tpool_ws, join_begin,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, group))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, join, oai_tpool_ws, join_end,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uintptr_t, group))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, park,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, unpark,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uint32_t, by_timer),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer(uint32_t, by_timer, by_timer)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, stopped_producer,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, int32_t, cpu),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer(int32_t, cpu, cpu)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, prewake,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, uint32_t, workers, uint64_t, rise_ns,
                    uint64_t, burst_ns),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_integer(uint32_t, workers, workers)
    lttng_ust_field_integer(uint64_t, rise_ns, rise_ns)
    lttng_ust_field_integer(uint64_t, burst_ns, burst_ns)))

LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, late,
  LTTNG_UST_TP_ARGS(uint32_t, pool, int32_t, worker, const char *, cause, uint64_t, late_ns),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, pool, pool)
    lttng_ust_field_integer(int32_t, worker, worker)
    lttng_ust_field_string(cause, cause)
    lttng_ust_field_integer(uint64_t, late_ns, late_ns)))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(oai_tpool_ws, phase_begin,
  LTTNG_UST_TP_ARGS(uint32_t, frame, uint32_t, slot, uint32_t, id),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, frame, frame)
    lttng_ust_field_integer(uint32_t, slot, slot)
    lttng_ust_field_integer(uint32_t, id, id)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, phase_begin, oai_tpool_ws, symbol_processing_begin,
  LTTNG_UST_TP_ARGS(uint32_t, frame, uint32_t, slot, uint32_t, id))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, phase_begin, oai_tpool_ws, ulsch_decoding_begin,
  LTTNG_UST_TP_ARGS(uint32_t, frame, uint32_t, slot, uint32_t, id))

LTTNG_UST_TRACEPOINT_EVENT_CLASS(oai_tpool_ws, phase_end,
  LTTNG_UST_TP_ARGS(uint32_t, frame, uint32_t, slot, uint32_t, id, uint32_t, tasks),
  LTTNG_UST_TP_FIELDS(
    lttng_ust_field_integer(uint32_t, frame, frame)
    lttng_ust_field_integer(uint32_t, slot, slot)
    lttng_ust_field_integer(uint32_t, id, id)
    lttng_ust_field_integer(uint32_t, tasks, tasks)))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, phase_end, oai_tpool_ws, symbol_processing_end,
  LTTNG_UST_TP_ARGS(uint32_t, frame, uint32_t, slot, uint32_t, id, uint32_t, tasks))
LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, phase_end, oai_tpool_ws, ulsch_decoding_end,
  LTTNG_UST_TP_ARGS(uint32_t, frame, uint32_t, slot, uint32_t, id, uint32_t, tasks))
// clang-format on

#endif

#include <lttng/tracepoint-event.h>
