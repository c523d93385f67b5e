// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_probe.c
/// ws_probe.h: find LTTng's provider, and the events of a phase.
#define _GNU_SOURCE // RTLD_DEFAULT
#ifdef WS_LTTNG
#include <dlfcn.h>
#endif

#include "../pool/ws_callback.h"
#include "../pool/ws_types.h"
#include "ws_probe.h"

#define VARIABLE "TPOOL_WS_TRACE"

ws_aptr_t ws_provider;

static const ws_settings_t on_stderr; ///< for warnings

static void warn(const char *value, const char *why)
{
  ws_warn(&on_stderr, VARIABLE "=\"%.40s\": %s; there are no events for LTTng", value, why);
}

#ifdef WS_LTTNG
/// The library lies beside the file that this code is in, or where the dynamic linker looks. It stays loaded:
/// lttng-ust does not support otherwise. The warning is about the first place, as lttng-ust may be missing.
static const ws_provider_t *load(const char *value)
{
  char why[160] = "";
  void *library = dlopen("$ORIGIN/" WS_PROVIDER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    snprintf(why, sizeof(why), "%s", dlerror());
    library = dlopen(WS_PROVIDER_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  }
  const ws_provider_t *table = library ? dlsym(library, WS_PROVIDER_NAME) : NULL;
  if (!table)
    warn(value, library ? WS_PROVIDER_LIBRARY " is of another version of this library" : why);
  return table;
}

/// Of a preloaded library. In a constructor: the process has one thread, or is inside dlopen(), and must not
/// fork then (ws_pool.h). Later the lock of the dynamic linker could stay taken in the child of a fork of
/// another thread.
__attribute__((constructor)) static void find_preloaded(void)
{
  ws_init_store(&ws_provider, dlsym(RTLD_DEFAULT, WS_PROVIDER_NAME));
}
#endif

/// ws_provider_find(), once. A fork cannot be held up meanwhile (ws_os_fork_hold()): LTTng's library forks
/// while it is loaded.
static void find_provider(void)
{
  const char *value = getenv(VARIABLE);
  if (!value || ws_variable_is_refused(&on_stderr, VARIABLE) || ws_hint_load(&ws_provider)
      || strcmp(value, "") == 0 || strcmp(value, "0") == 0)
    return;
  if (strcmp(value, "1") != 0)
    warn(value, "unknown value (known: 0, 1)");
  else
#ifdef WS_LTTNG
    // [edge PROVIDER release] what the dynamic linker has written
    ws_store_release(&ws_provider, (void *)(uintptr_t)load(value));
#else
    warn(value, "this library was built without LTTng");
#endif
}

void ws_provider_find(void)
{
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, find_provider);
}

// The events of a phase: here, so that the tests of the patches can look between them and ws_traced.c.

void ws_probe_phase_began(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id)
{
  if (phase == WS_TRACE_SYMBOL_PROCESSING)
    WS_PROBE(symbol_processing_begin, NULL, frame, slot, id);
  else
    WS_PROBE(ulsch_decoding_begin, NULL, frame, slot, id);
}

void ws_probe_phase_ended(ws_trace_phase_t phase, uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks)
{
  if (phase == WS_TRACE_SYMBOL_PROCESSING)
    WS_PROBE(symbol_processing_end, NULL, frame, slot, id, tasks);
  else
    WS_PROBE(ulsch_decoding_end, NULL, frame, slot, id, tasks);
}
