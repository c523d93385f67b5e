// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.c
/// ws_rings.h.
#define _GNU_SOURCE
#include "ws_rings.h"

#include <sys/prctl.h>

struct ws_rings_s ws_rings;
ws_event_ring_t ws_ring_none;

void ws_rings_compare_clocks(ws_event_file_t *file)
{
  uint64_t own_ns, real_ns;
  ws_clock_pair(&own_ns, &real_ns);
  ws_stat_store(&file->own_ns, own_ns);
  ws_stat_store(&file->real_ns, real_ns);
}

void ws_rings_begin(ws_event_file_t *file)
{
  ws_clock_begin();
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
