// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.c
/// ws_rings.h: the clock, and whose ring is which.
#define _GNU_SOURCE
#include "ws_rings.h"

#include <sys/prctl.h>
#include <time.h>

#define COMPARE_NS 2000000u ///< in which the CPU's counter is compared with the clock

struct ws_rings_s ws_rings;
ws_event_ring_t ws_ring_none;

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

void ws_rings_compare_clocks(ws_event_file_t *file)
{
  struct timespec now = {0};
  clock_gettime(CLOCK_REALTIME, &now);
  ws_stat_store(&file->own_ns, ws_rings_ns());
  ws_stat_store(&file->real_ns, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
}

void ws_rings_begin(ws_event_file_t *file)
{
  measure_counter();
  memcpy(file->magic, "WSREC003", sizeof(file->magic));
  file->pid = (uint32_t)getpid();
  ws_os_read("/proc/self/maps", file->maps, sizeof(file->maps));
  ws_rings.file = file;
  ws_rings_compare_clocks(file);
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
