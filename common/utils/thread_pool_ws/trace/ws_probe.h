// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_probe.h
/// WS_PROBE(event, fields...): an event for tracing tools. For LTTng with WS_LTTNG, if its provider is loaded
/// (ws_provider.h); probes of sys/sdt.h (for bpftrace, perf, SystemTap) with WS_USDT; both, or nothing: then
/// the fields are not even evaluated. Events and fields have the same names and order in both; ws_tp.h lists
/// them.
#ifndef WS_PROBE_H
#define WS_PROBE_H

#if defined(WS_LTTNG)
#include "ws_provider.h"
#define WS_PROBE_TO_LTTNG(event, ...)                                                                        \
  do {                                                                                                       \
    if (ws_provider_is_loaded())                                                                             \
      ws_provider_events()->event(__VA_ARGS__);                                                              \
  } while (0)
#define WS_PROBE_IN_LTTNG ws_provider_is_loaded()
#else
#define WS_PROBE_TO_LTTNG(event, ...) ((void)0)
#define WS_PROBE_IN_LTTNG 0
#endif

#if defined(WS_USDT)
#define WS_PROBE_IN_USDT 1 // a probe takes less time than to ask whether a tool listens
#else
#define WS_PROBE_IN_USDT 0
#endif
#if defined(WS_USDT)
#ifndef SDT_USE_VARIADIC
#define SDT_USE_VARIADIC // else there is no STAP_PROBEV
#endif
#include <sys/sdt.h>
#define WS_PROBE_TO_USDT(event, ...) STAP_PROBEV(oai_tpool_ws, event, __VA_ARGS__)
#else
#define WS_PROBE_TO_USDT(event, ...) ((void)0)
#endif

#if defined(WS_LTTNG) || defined(WS_USDT)
#define WS_PROBE(event, ...)                                                                                 \
  do {                                                                                                       \
    WS_PROBE_TO_LTTNG(event, __VA_ARGS__);                                                                   \
    WS_PROBE_TO_USDT(event, __VA_ARGS__);                                                                    \
  } while (0)
#else
/// Takes the fields, so that nothing is unused; never called.
void ws_probe_nothing(int first, ...);
#define WS_PROBE(event, ...)                                                                                 \
  do {                                                                                                       \
    if (0)                                                                                                   \
      ws_probe_nothing(0, __VA_ARGS__);                                                                      \
  } while (0)
#endif

/// Whether an event might be recorded: ask before fields are computed for it.
#define WS_PROBE_SEEN(event) (WS_PROBE_IN_USDT || WS_PROBE_IN_LTTNG)

#endif
