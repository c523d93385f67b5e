// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_settings.c
/// ws_setup.h: the defaults and the check of the settings. ws_version.h.
#define _GNU_SOURCE
#include "../pool/ws_types.h"
#include "ws_setup.h"

#include <elf.h>
#include <link.h>
#include <signal.h>

#include "../include/ws_version.h"
#include "../pool/ws_callback.h"

/// Those of 0.1.0 end with warn_arg.
#define BYTES_MIN (offsetof(ws_settings_t, warn_arg) + sizeof(void *))

void ws_settings_init(ws_settings_t *settings, size_t bytes)
{
  if (!settings)
    return;
  ws_cpuset_t cpus;
  ws_os_process_cpus(&cpus);
  const uint32_t count = ws_os_cpuset_count(&cpus);
  const ws_settings_t own = {
      .size = (uint32_t)bytes,
      .name = "ws",
      .workers = count < WS_WORKERS_MAX ? count : WS_WORKERS_MAX,
      .sched_class = WS_CLASS_INHERIT,
      .queue_capacity = 1024,
      .lanes = 32,
      .full = WS_FULL_GROW,
      .spin = WS_SPIN_AUTO,
      .spin_cpu_max_percent = 10,
      .spin_price = 9,
      .spin_ns_max = 40000,
      .join_spin_ns_max = 200000,
      .warn = ws_warn_on_stderr,
      .record_mb = WS_RECORD_MB,
  };
  ws_sized_put(settings, bytes, &own, sizeof(own));
}

/// Copy a caller's settings, of another size maybe; fields that the caller's lack get their defaults.
/// @return 0; -EINVAL, with a warning: the size is below that of the first version, or a field is set that
///         this one does not have
static int copy_settings(ws_settings_t *own, const ws_settings_t *given)
{
  ws_settings_default(own);
  if (given->size < BYTES_MIN) { // the other fields may not be set: not even given->warn
    ws_warn(own, "setting size = %u is out of range: call ws_settings_default() first", given->size);
    return -EINVAL;
  }
  if (!ws_sized_take(own, sizeof(*own), given, given->size)) {
    ws_warn(own,
            "a setting is used that this version of the library does not have: the settings have %u bytes,"
            " thread_pool_ws %d.%d.%d knows %zu",
            given->size, WS_VERSION_MAJOR, WS_VERSION_MINOR, WS_VERSION_PATCH, sizeof(*own));
    return -EINVAL;
  }
  own->size = sizeof(*own);
  return 0;
}

/// @return false, with a warning about the first field that is out of range, or about cores that are missing
static bool are_valid(const ws_settings_t *settings)
{
  const bool realtime = settings->sched_class == WS_CLASS_RR || settings->sched_class == WS_CLASS_FIFO;
  const struct {
    const char *field;
    long long value, low, high;
  } rows[] = {
      {"workers", settings->workers, 0, WS_WORKERS_MAX},
      {"sched_class", settings->sched_class, WS_CLASS_INHERIT, WS_CLASS_FIFO},
      {"sched_priority", realtime ? settings->sched_priority : 1, 1, 99},
      {"queue_capacity", settings->queue_capacity, 2, 1 << 20},
      {"lanes", settings->lanes, 0, WS_LANES_MAX},
      {"full", settings->full, WS_FULL_GROW, WS_FULL_FAIL},
      {"spin", settings->spin, WS_SPIN_OFF, WS_SPIN_HOT},
      {"spin_lead_ns", (int64_t)settings->spin_lead_ns, 0, WS_SPIN_LEAD_NS_MAX},
      {"spin_ns_max", (int64_t)settings->spin_ns_max, 0, WS_SPIN_NS_MAX},
      {"spin_cpu_max_percent", settings->spin_cpu_max_percent, 0, 100},
      {"spin_price", settings->spin_price, 1, 100},
      {"record_mb", settings->record_mb, 1, WS_RECORD_MB_MAX},
  };
  for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
    if (rows[i].value >= rows[i].low && rows[i].value <= rows[i].high)
      continue;
    ws_warn(settings, "setting %s = %lld is out of range (%lld .. %lld)", rows[i].field, rows[i].value,
            rows[i].low, rows[i].high);
    return false;
  }
  if (settings->core_count > 0 && !settings->cores)
    ws_warn(settings, "setting cores is NULL, but core_count is %u", settings->core_count);
  return settings->core_count == 0 || settings->cores;
}

/// Add the size of a library's thread-local data to *bytes. @return 0: go on with the next library
static int add_thread_local(struct dl_phdr_info *library, size_t size, void *bytes)
{
  (void)size;
  for (uint32_t i = 0; i < library->dlpi_phnum; i++)
    if (library->dlpi_phdr[i].p_type == PT_TLS)
      *(size_t *)bytes += library->dlpi_phdr[i].p_memsz;
  return 0;
}

/// The C library takes the libraries' thread-local data (LTTng's, for example) from a new thread's stack.
/// @return false, with a warning, if the rest is too small for a worker. true if the size is not known, or
///         this library makes no workers
static bool stack_suffices(const ws_settings_t *settings)
{
  size_t bytes = settings->stack_bytes ? settings->stack_bytes : SIZE_MAX; // as long as it is not known
  size_t thread_local_bytes = 0;
  pthread_attr_t attr;
  if (settings->thread_create || settings->workers == 0)
    return true;
  ws_os_fork_hold();
  if (!settings->stack_bytes && pthread_getattr_default_np(&attr) == 0) {
    pthread_attr_getstacksize(&attr, &bytes);
    pthread_attr_destroy(&attr);
  }
  dl_iterate_phdr(add_thread_local, &thread_local_bytes);
  ws_os_fork_let();
  if (bytes >= WS_STACK_BYTES_MIN + thread_local_bytes)
    return true;
  ws_warn(settings,
          "the stack of new threads is too small: %zu bytes; a worker needs %u, thread-local data %zu. Raise"
          " it (stack_bytes, ulimit -s, or pthread_setattr_default_np)",
          bytes, WS_STACK_BYTES_MIN, thread_local_bytes);
  return false;
}

int ws_settings_take(ws_settings_t *settings, const ws_settings_t *given)
{
  if (copy_settings(settings, given) < 0 || !are_valid(settings) || !stack_suffices(settings))
    return -EINVAL;
  uint32_t capacity = 2;
  while (capacity < settings->queue_capacity)
    capacity *= 2;
  settings->queue_capacity = capacity;
  if (!settings->name)
    settings->name = "ws";
  return 0;
}

uint32_t ws_version(void)
{
  return WS_VERSION_NUMBER;
}
