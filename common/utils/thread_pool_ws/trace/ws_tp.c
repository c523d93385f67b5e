// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tp.c
/// The library libthread_pool_ws_lttng.so: the code of the provider, made by LTTng's headers, and the table
/// of its events (ws_provider.h). No other file needs LTTng.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_HIDDEN_DEFINITION
#define LTTNG_UST_TRACEPOINT_PROVIDER_HIDDEN_DEFINITION
#include "ws_tp.h"

#include "ws_provider.h"

/// EVENT(name, parameters, arguments...): the function of an event.
#define EVENT(name, parameters, ...)                                                                         \
  static void name parameters                                                                                \
  {                                                                                                          \
    lttng_ust_tracepoint(oai_tpool_ws, name, __VA_ARGS__);                                                   \
  }
#define TASK (uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg, uintptr_t group)
#define JOIN (uint32_t pool, int32_t worker, uintptr_t group)
#define PHASE_BEGIN (uint32_t frame, uint32_t slot, uint32_t id)
#define PHASE_END (uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks)

// clang-format off
EVENT(pool_start, (uint32_t pool, const char *name, uint32_t workers, uint32_t cpus, uint32_t worker_cpus),
      pool, name, workers, cpus, worker_cpus)
EVENT(pool_stop, (uint32_t pool), pool)
EVENT(push, TASK, pool, worker, func, arg, group)
EVENT(run_begin, TASK, pool, worker, func, arg, group)
EVENT(run_as, (uintptr_t func, uintptr_t arg), func, arg)
EVENT(run_end, (uint32_t pool, int32_t worker, uintptr_t arg), pool, worker, arg)
EVENT(wake, (uint32_t pool, int32_t worker, int32_t by), pool, worker, by)
EVENT(steal, (uint32_t pool, int32_t worker, int32_t victim), pool, worker, victim)
EVENT(complete, (uintptr_t group, uint32_t units), group, units)
EVENT(join_begin, JOIN, pool, worker, group)
EVENT(join_end, JOIN, pool, worker, group)
EVENT(park, (uint32_t pool, int32_t worker), pool, worker)
EVENT(unpark, (uint32_t pool, int32_t worker, uint32_t by_timer), pool, worker, by_timer)
EVENT(stopped_producer, (uint32_t pool, int32_t worker, int32_t cpu), pool, worker, cpu)
EVENT(prewake, (uint32_t pool, int32_t worker, uint32_t workers, uint64_t rise_ns, uint64_t burst_ns),
      pool, worker, workers, rise_ns, burst_ns)
EVENT(late, (uint32_t pool, int32_t worker, const char *cause, uint64_t late_ns),
      pool, worker, cause, late_ns)
EVENT(symbol_processing_begin, PHASE_BEGIN, frame, slot, id)
EVENT(ulsch_decoding_begin, PHASE_BEGIN, frame, slot, id)
EVENT(symbol_processing_end, PHASE_END, frame, slot, id, tasks)
EVENT(ulsch_decoding_end, PHASE_END, frame, slot, id, tasks)
// clang-format on

static bool records(void)
{
  return lttng_ust_tracepoint_enabled(oai_tpool_ws, run_begin);
}

__attribute__((visibility("default"))) extern const ws_provider_t WS_PROVIDER_TABLE;
const ws_provider_t WS_PROVIDER_TABLE = {
    .records = records,
    .pool_start = pool_start,
    .pool_stop = pool_stop,
    .push = push,
    .run_begin = run_begin,
    .run_as = run_as,
    .run_end = run_end,
    .wake = wake,
    .steal = steal,
    .complete = complete,
    .join_begin = join_begin,
    .join_end = join_end,
    .park = park,
    .unpark = unpark,
    .stopped_producer = stopped_producer,
    .prewake = prewake,
    .late = late,
    .symbol_processing_begin = symbol_processing_begin,
    .ulsch_decoding_begin = ulsch_decoding_begin,
    .symbol_processing_end = symbol_processing_end,
    .ulsch_decoding_end = ulsch_decoding_end,
};
