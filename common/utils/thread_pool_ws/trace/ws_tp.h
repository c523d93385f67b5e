// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tp.h
/// LTTng-UST provider oai_tpool_ws: one tracepoint an event. Included by ws_tp.c only; LTTng's own headers
/// read it several times, hence the unusual guard.
///
/// Fields: pool is the pool's id in the process; worker the index of the worker that the event is about, -1 =
/// a thread that is none; func, arg and group name a task. What runs inline has pool 0. In OAI v2.0.0 to
/// v2.2.0 func is the shim's. When each event is recorded:
/// - pool_start, pool_stop: a pool has been made; its workers have ended
/// - decide: while a worker sleeps: wakes workers are woken, or none, and why (the words of the report)
/// - push, wake: before a task is published; before the call that wakes worker
/// - sleep_begin, sleep_end: around a sleep in a wait, while no task is left to help with; the first
///   also before each sleep of a parked worker, and before it moves to another CPU
/// - idle: a worker has run tasks and finds no more: it spins, or parks
/// - park, unpark: of a worker: before it makes ready to sleep, after its sleep; by_timer 0 = called, 1
///   = by its own timer, 2 = it did not sleep
/// - steal: from the queue of the worker victim, or of a lane above; -1 = a shared queue, -3 = an inbox
/// - run_begin, run_end: around the task's function; nested when a task helps while it waits
/// - run_as: what a task of an interface on the pool calls next
/// - complete: before a group's count goes down; FIFOs of OAI v2.0.0 to v2.2.0 have none
/// - join_begin, join_end: a wait; group 0 = for the whole pool, pool 0 = the thread helps in none;
///   waits numbers those outside tasks, 0 = inside
/// - prewake: a timer is set; worker -1 = a hint that workers are wanted at burst_ns, 0 = now
/// - late_burst: a burst or phase was late: the main cause
/// - symbol_processing_*, ulsch_decoding_*: begin, end; id is OAI's number of the user or transport
///   block
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER oai_tpool_ws
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "ws_tp.h"

#if !defined(WS_TP_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define WS_TP_H

#include <lttng/tracepoint.h>
#include <stdint.h>

#define TP_U32(name) lttng_ust_field_integer(uint32_t, name, name)
#define TP_I32(name) lttng_ust_field_integer(int32_t, name, name)
#define TP_U64(name) lttng_ust_field_integer(uint64_t, name, name)
#define TP_HEX(name) lttng_ust_field_integer_hex(uint64_t, name, name)
#define TP_TEXT(name) lttng_ust_field_string(name, name)
/// TP_EVENT(name, arguments, fields), and several events with the same fields: TP_CLASS, TP_OF_CLASS.
#define TP_EVENT(name, args, fields)                                                                         \
  LTTNG_UST_TRACEPOINT_EVENT(oai_tpool_ws, name, LTTNG_UST_TP_ARGS args, LTTNG_UST_TP_FIELDS(fields))
#define TP_CLASS(name, args, fields)                                                                         \
  LTTNG_UST_TRACEPOINT_EVENT_CLASS(oai_tpool_ws, name, LTTNG_UST_TP_ARGS args, LTTNG_UST_TP_FIELDS(fields))
#define TP_OF_CLASS(its_class, name, args)                                                                   \
  LTTNG_UST_TRACEPOINT_EVENT_INSTANCE(oai_tpool_ws, its_class, oai_tpool_ws, name, LTTNG_UST_TP_ARGS args)

// clang-format off
#define TP_TASK (uint32_t, pool, int32_t, worker, uintptr_t, func, uintptr_t, arg, uintptr_t, group)
#define TP_PHASE (uint32_t, frame, uint32_t, slot, uint32_t, id)
#define TP_PHASE_END (uint32_t, frame, uint32_t, slot, uint32_t, id, uint32_t, tasks)

TP_EVENT(pool_start,
  (uint32_t, pool, const char *, name, uint32_t, workers, uint32_t, cpus, uint32_t, worker_cpus),
  TP_U32(pool) TP_TEXT(name) TP_U32(workers) TP_U32(cpus) TP_U32(worker_cpus))
TP_EVENT(pool_stop, (uint32_t, pool), TP_U32(pool))
TP_CLASS(task, TP_TASK, TP_U32(pool) TP_I32(worker) TP_HEX(func) TP_HEX(arg) TP_HEX(group))
TP_OF_CLASS(task, push, TP_TASK)
TP_OF_CLASS(task, run_begin, TP_TASK)
TP_EVENT(run_as, (uintptr_t, func, uintptr_t, arg), TP_HEX(func) TP_HEX(arg))
TP_EVENT(run_end, (uint32_t, pool, int32_t, worker, uintptr_t, arg, uintptr_t, group),
  TP_U32(pool) TP_I32(worker) TP_HEX(arg) TP_HEX(group))
TP_EVENT(decide, (uint32_t, pool, int32_t, worker, const char *, why, uint32_t, wakes),
  TP_U32(pool) TP_I32(worker) TP_TEXT(why) TP_U32(wakes))
TP_EVENT(wake, (uint32_t, pool, int32_t, worker, int32_t, by), TP_U32(pool) TP_I32(worker) TP_I32(by))
TP_EVENT(steal, (uint32_t, pool, int32_t, worker, int32_t, victim),
  TP_U32(pool) TP_I32(worker) TP_I32(victim))
TP_EVENT(complete, (uintptr_t, group, uint32_t, units), TP_HEX(group) TP_U32(units))
TP_EVENT(join_begin, (uint32_t, pool, int32_t, worker, uintptr_t, group),
  TP_U32(pool) TP_I32(worker) TP_HEX(group))
TP_EVENT(join_end, (uint32_t, pool, int32_t, worker, uintptr_t, group, uint32_t, waits),
  TP_U32(pool) TP_I32(worker) TP_HEX(group) TP_U32(waits))
TP_CLASS(sleep, (uint32_t, pool, int32_t, worker), TP_U32(pool) TP_I32(worker))
TP_OF_CLASS(sleep, sleep_begin, (uint32_t, pool, int32_t, worker))
TP_OF_CLASS(sleep, sleep_end, (uint32_t, pool, int32_t, worker))
TP_OF_CLASS(sleep, idle, (uint32_t, pool, int32_t, worker))
TP_OF_CLASS(sleep, park, (uint32_t, pool, int32_t, worker))
TP_EVENT(unpark, (uint32_t, pool, int32_t, worker, uint32_t, by_timer, uint64_t, since_call_ns),
  TP_U32(pool) TP_I32(worker) TP_U32(by_timer) TP_U64(since_call_ns))
TP_EVENT(prewake,
  (uint32_t, pool, int32_t, worker, uint32_t, workers, uint64_t, rise_ns, uint64_t, burst_ns),
  TP_U32(pool) TP_I32(worker) TP_U32(workers) TP_U64(rise_ns) TP_U64(burst_ns))
TP_EVENT(late_burst, (uint32_t, pool, const char *, cause, uint64_t, over_ns),
  TP_U32(pool) TP_TEXT(cause) TP_U64(over_ns))
TP_CLASS(phase_begin, TP_PHASE, TP_U32(frame) TP_U32(slot) TP_U32(id))
TP_OF_CLASS(phase_begin, symbol_processing_begin, TP_PHASE)
TP_OF_CLASS(phase_begin, ulsch_decoding_begin, TP_PHASE)
TP_CLASS(phase_end, TP_PHASE_END, TP_U32(frame) TP_U32(slot) TP_U32(id) TP_U32(tasks))
TP_OF_CLASS(phase_end, symbol_processing_end, TP_PHASE_END)
TP_OF_CLASS(phase_end, ulsch_decoding_end, TP_PHASE_END)
// clang-format on

#endif

#include <lttng/tracepoint-event.h>
