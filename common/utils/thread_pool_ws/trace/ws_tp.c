// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_tp.c
/// The library libthread_pool_ws_lttng.so: the code of the provider, made by LTTng's headers, and the table
/// of its events (ws_probe.h). No other file needs LTTng.
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_HIDDEN_DEFINITION
#define LTTNG_UST_TRACEPOINT_PROVIDER_HIDDEN_DEFINITION
#include "ws_tp.h"

#include "ws_probe.h"

#define CALL(...) lttng_ust_tracepoint(__VA_ARGS__) // once WS_WORDS is expanded
#define FUNCTION(name, fields, names, ...)                                                                   \
  static void name(WS_WORDS fields)                                                                          \
  {                                                                                                          \
    CALL(oai_tpool_ws, name, WS_WORDS names);                                                                \
  }
WS_EVENTS(FUNCTION)

static bool records(void)
{
  return lttng_ust_tracepoint_enabled(oai_tpool_ws, run_begin);
}

#define ENTRY(name, ...) .name = name,
__attribute__((visibility("default"))) extern const ws_provider_t WS_PROVIDER_TABLE;
const ws_provider_t WS_PROVIDER_TABLE = {.records = records, WS_EVENTS(ENTRY)};
