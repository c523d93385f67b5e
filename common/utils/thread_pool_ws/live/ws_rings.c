// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.c
/// ws_rings.h: the mapping, its file, and copies in it.
#define _GNU_SOURCE
#include "ws_rings.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <time.h>

#include "../pool/ws_callback.h"
#include "ws_live.h"

#define HOUR_NS UINT64_C(3600000000000)
#define COMPARE_NS 2000000u ///< in which the CPU's counter is compared with the clock

struct ws_rings_s ws_rings;
ws_event_ring_t ws_ring_none;

/// @return the rings in a new file; NULL, with a warning: there is none
static void *map_file(const ws_settings_t *settings)
{
  void *memory;
  snprintf(ws_rings.path, sizeof(ws_rings.path), "%s/tpool-ws-%d-%llu.record", settings->record,
           (int)getpid(), (unsigned long long)ws_os_now_ns());
  const int error = ws_file_map(ws_rings.path, sizeof(ws_event_file_t), &memory);
  if (error)
    ws_warn(settings, "record=%s: %s; there is no record", settings->record, strerror(error));
  return memory;
}

/// The counter is used if Linux does so for its own clock.
static void measure_counter(void)
{
  char source[8] = "";
  ws_os_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", source, sizeof(source));
  const uint64_t ticks = ws_rings_ticks(), ns = ws_os_now_ns();
  if (ticks == 0 || strncmp(source, "tsc", 3) != 0)
    return;
  ws_os_futex_wait(&(ws_au32_t){0}, 0, COMPARE_NS);
  const double took_ticks = (double)(ws_rings_ticks() - ticks);
  ws_rings.ns_a_tick = (double)(ws_os_now_ns() - ns) / took_ticks;
}

static void compare_clocks(ws_event_file_t *its)
{
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  ws_stat_store(&its->own_ns, ws_rings_ns());
  ws_stat_store(&its->real_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

bool ws_rings_map(const ws_settings_t *settings)
{
  ws_event_file_t *its = settings->record[0] ? map_file(settings) : NULL;
  ws_init_store(&ws_rings.copy_after, its ? 0 : WS_COPY_NONE);
  its = its ? its : ws_os_map(sizeof(*its));
  if (!its)
    return false;
  measure_counter();
  memcpy(its->magic, "WSREC003", sizeof(its->magic));
  its->pid = (uint32_t)getpid();
  ws_os_read("/proc/self/maps", its->maps, sizeof(its->maps));
  ws_rings.file = its;
  compare_clocks(its);
  return true;
}

ws_event_ring_t *ws_ring_take(void)
{
  const ws_worker_t *worker = ws_self()->worker;
  // relaxed: unique
  const uint32_t number = ws_rings_are_own() ? ws_add_relaxed(&ws_rings.file->rings, 1) : WS_RINGS;
  if (number >= WS_RINGS)
    return &ws_ring_none;
  ws_event_ring_t *ring = &ws_rings.file->ring[number];
  prctl(PR_GET_NAME, ring->name);
  ws_stat_store(&ring->who, worker ? worker->pool->id << 16 | worker->index : 0);
  ws_store_release(&ring->tid, (uint64_t)ws_os_tid()); // [edge RING release] what is in it
  for (uint32_t at = 0; at < WS_RING_EVENTS; at += 256) // its pages come now, not in the middle of a burst
    ws_stat_add(&ring->event[at].what, 0);
  return ring;
}

/// Another file, beside it.
static void copy_file(uint64_t number)
{
  char path[sizeof(ws_rings.path) + 8];
  snprintf(path, sizeof(path), "%s.%u", ws_rings.path, (uint32_t)number);
  unlink(path); // the last hour's
  const size_t bytes = offsetof(ws_event_file_t, ring) + ws_ring_count() * sizeof(ws_event_ring_t);
  const int from = open(ws_rings.path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
  const int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (sendfile(to, from, NULL, bytes) != (ssize_t)bytes) // the disk is full
    unlink(path);
  close(from);
  close(to);
}

/// The table of events is seen after the rings. The child of a fork may have dropped its parent's.
bool ws_live_judges(void)
{
  return WS_PROBE_SEEN() && ws_provider_events()->note && ws_rings.file;
}

bool ws_live_copy(bool by_user)
{
  ws_au32_t *guard = ws_hint_load(&ws_rings.guard);
  uint64_t after = ws_hint_load(&ws_rings.copy_after);
  if (!guard || after == WS_COPY_NONE || (!by_user && ws_rings_ns() <= after)
      || !ws_cas_acq_rel(&ws_rings.copy_after, &after, WS_COPY_ASKED)) // [edge RING acq_rel] no guard copies
    return false;
  ws_os_futex_wake(guard, 1);
  return true;
}

void ws_live_look(ws_au32_t *word)
{
  static uint64_t hour, copies; // of the guard that copies: in that hour
  uint64_t asked = WS_COPY_ASKED;
  if (!ws_live_judges())
    return;
  ws_event_file_t *its = ws_rings.file;
  ws_hint_store(&ws_rings.guard, word);
  compare_clocks(its);
  if (!ws_cas_acq_rel(&ws_rings.copy_after, &asked, WS_COPY_NONE)) // [edge RING acq_rel] one guard
    return;
  const uint64_t hour_now = ws_rings_ns() / HOUR_NS;
  copies = hour_now == hour ? copies : 0;
  hour = hour_now;
  ws_os_read("/proc/self/maps", its->maps, sizeof(its->maps));
  copy_file(copies % WS_COPIES);
  // [edge RING release] the copy
  ws_store_release(&ws_rings.copy_after, ++copies < WS_COPIES ? 0 : (hour + 1) * HOUR_NS);
}
