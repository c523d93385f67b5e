// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_provider.h
/// LTTng's provider of the pool's events is a library of its own, libthread_pool_ws_lttng.so (ws_tp.c). A
/// program loads it only for traces, so that a program which links the pool has none of lttng-ust's threads.
/// The provider hands over one table of functions. The pool needs no header of LTTng.
#ifndef WS_PROVIDER_H
#define WS_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/ws_atomic.h"
#include "../base/ws_base.h"

/// Raise the number when a function of the table changes: a provider of another build is then not found.
#define WS_PROVIDER_TABLE ws_provider_table_2
#define WS_PROVIDER_NAME "ws_provider_table_2"
#define WS_PROVIDER_LIBRARY "libthread_pool_ws_lttng.so.0"

/// One function for each event of ws_tp.h, with its fields.
typedef struct {
  /// @return whether a session records the event run_begin
  bool (*records)(void);
  void (*pool_start)(uint32_t pool, const char *name, uint32_t workers, uint32_t cpus, uint32_t worker_cpus);
  void (*pool_stop)(uint32_t pool);
  void (*push)(uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg, uintptr_t group);
  void (*run_begin)(uint32_t pool, int32_t worker, uintptr_t func, uintptr_t arg, uintptr_t group);
  void (*run_as)(uintptr_t func, uintptr_t arg);
  void (*run_end)(uint32_t pool, int32_t worker, uintptr_t arg);
  void (*wake)(uint32_t pool, int32_t worker, int32_t by);
  void (*steal)(uint32_t pool, int32_t worker, int32_t victim);
  void (*complete)(uintptr_t group, uint32_t units);
  void (*join_begin)(uint32_t pool, int32_t worker, uintptr_t group);
  void (*join_end)(uint32_t pool, int32_t worker, uintptr_t group);
  void (*park)(uint32_t pool, int32_t worker);
  void (*unpark)(uint32_t pool, int32_t worker, uint32_t by_timer);
  void (*stopped_producer)(uint32_t pool, int32_t worker, int32_t cpu);
  void (*prewake)(uint32_t pool, int32_t worker, uint32_t workers, uint64_t rise_ns, uint64_t burst_ns);
  void (*late)(uint32_t pool, int32_t worker, const char *cause, uint64_t late_ns);
  void (*symbol_processing_begin)(uint32_t frame, uint32_t slot, uint32_t id);
  void (*ulsch_decoding_begin)(uint32_t frame, uint32_t slot, uint32_t id);
  void (*symbol_processing_end)(uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks);
  void (*ulsch_decoding_end)(uint32_t frame, uint32_t slot, uint32_t id, uint32_t tasks);
} ws_provider_t;

/// S const ws_provider_t; NULL = not loaded.
extern __attribute__((visibility("hidden"))) ws_aptr_t ws_provider;

/// @return whether events go to the provider. One load, and a branch that is never taken without it
static inline bool ws_provider_is_loaded(void)
{
  return WS_UNLIKELY(ws_hint_load(&ws_provider) != NULL);
}

/// @return the table; NULL = not loaded
static inline const ws_provider_t *ws_provider_events(void)
{
  return ws_load_acquire(&ws_provider); // [edge PROVIDER acquire]
}

/// @brief Find the provider, once in the process: it is there (LD_PRELOAD), or the environment asks for it
/// (TPOOL_WS_TRACE=1). A failure is reported on stderr.
/// @threads   any; the first call may take milliseconds, and waits for LTTng's session daemon if one runs
void ws_provider_find(void);

#endif
