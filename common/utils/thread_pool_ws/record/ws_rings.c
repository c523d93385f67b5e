// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.c
/// ws_rings.h.
#define _GNU_SOURCE
#include "ws_rings.h"

#include <sys/prctl.h>

#include "../pool/ws_callback.h"

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

static void give_back(ws_event_ring_t *ring)
{
  if (ring == &ws_ring_none || !ws_rings_are_own())
    return;
  ws_stat_store(&ring->tid, 0);
  // [edge RING release] the owner's fields
  ws_store_release(&ws_rings.taken[ring - ws_rings.file->ring], 0);
}

/// @return the number of a ring that the caller has taken; WS_RINGS = there is none
static uint32_t find_free(void)
{
  for (uint32_t number = 0; number < WS_RINGS; number++) {
    uint32_t none = 0;
    if (ws_cas_acq_rel(&ws_rings.taken[number], &none, 1)) // [edge RING acq_rel] its last owner's fields
      return number;
  }
  return WS_RINGS;
}

/// Of threads at one time, with those that got no ring.
static void count_at_least(uint32_t rings)
{
  uint32_t seen = ws_expected_load(&ws_rings.file->rings);
  while (seen < rings)
    if (ws_cas_acq_rel(&ws_rings.file->rings, &seen, rings)) // [edge RING acq_rel]
      return;
}

ws_event_ring_t *ws_ring_take(void)
{
  ws_self_t *self = ws_self();
  const ws_worker_t *worker = self->worker;
  if (!ws_rings_are_own())
    return &ws_ring_none;
  const uint32_t number = find_free(), without = number == WS_RINGS ? ws_stat_add(&ws_rings.without, 1) : 0;
  count_at_least(number + without + 1);
  if (number == WS_RINGS && without == 0)
    ws_warn(&(ws_settings_t){0}, "deadline, record: bursts of threads beyond %u are not judged", WS_RINGS);
  if (number == WS_RINGS)
    return &ws_ring_none;
  ws_event_ring_t *ring = &ws_rings.file->ring[number];
  memset(ring, 0, offsetof(ws_event_ring_t, event)); // its last owner's
  prctl(PR_GET_NAME, ring->name);
  ws_stat_store(&ring->who, worker ? worker->pool->id << 16 | worker->index : 0);
  ws_store_release(&ring->tid, (uint64_t)ws_os_tid()); // [edge RING release] what is in it
  for (uint32_t at = 0; at < WS_RING_EVENTS; at += 256) // its pages come now, not in the middle of a burst
    ws_stat_add(&ring->event[at].what, 0);
  self->leave = give_back;
  ws_process_see_end(self);
  return ring;
}
