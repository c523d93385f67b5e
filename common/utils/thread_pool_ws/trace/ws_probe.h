// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_probe.h
/// WS_PROBE(event, fields...): an event for LTTng, if its provider is loaded (ws_provider.h). Without
/// WS_LTTNG the fields are not even evaluated. ws_tp.h lists the events and their fields.
#ifndef WS_PROBE_H
#define WS_PROBE_H

#if defined(WS_LTTNG)
#include "ws_provider.h"

#define WS_PROBE(event, ...)                                                                                 \
  do {                                                                                                       \
    if (WS_PROBE_SEEN())                                                                                     \
      ws_provider_events()->event(__VA_ARGS__);                                                              \
  } while (0)

/// Whether an event might be recorded: ask before fields are computed for it.
#define WS_PROBE_SEEN() ws_provider_is_loaded()
#else
/// Takes the fields, so that nothing is unused; never called.
void ws_probe_nothing(int first, ...);
#define WS_PROBE(event, ...)                                                                                 \
  do {                                                                                                       \
    if (WS_PROBE_SEEN())                                                                                     \
      ws_probe_nothing(0, __VA_ARGS__);                                                                      \
  } while (0)
#define WS_PROBE_SEEN() 0
#endif

#endif
