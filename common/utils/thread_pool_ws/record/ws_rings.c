// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_rings.c
/// ws_rings.h.
#define _GNU_SOURCE
#include "ws_rings.h"

#include <sys/prctl.h>

#include "../pool/ws_callback.h"

struct ws_rings_s ws_rings;
ws_event_ring_t ws_ring_none;

void ws_rings_begin(void)
{
  ws_rings = (struct ws_rings_s){.pid = (uint32_t)getpid(), .forks = ws_process.forks};
}

/// ws_self_t.leave: the calling thread ends. Its events stay until the next owner comes: the scribe may not
/// have read them yet. In a child of a fork, and after ws_rings_end(), nothing happens.
static void give_back(ws_event_ring_t *ring)
{
  for (uint32_t i = 0; ws_rings_are_own() && i < ws_hint_load(&ws_rings.count); i++)
    if (ws_ring(i) == ring)
      ws_store_release(&ws_rings.taken[i], 0); // [edge RING release] the owner's fields
}

/// Take the free ring with the lowest number, so that few get memory: the first owner of one maps it.
/// @return a ring that the caller has taken; NULL = all are taken, or there is no memory
static ws_event_ring_t *find_free(void)
{
  for (uint32_t i = 0; i < WS_RINGS; i++) {
    uint32_t none = 0;
    if (!ws_cas_acq_rel(&ws_rings.taken[i], &none, 1)) // [edge RING acq_rel] its last owner's fields
      continue;
    ws_event_ring_t *ring = ws_load_acquire(&ws_rings.ring[i]); // [edge RING acquire] its memory
    if (ring)
      return ring;
    if (!(ring = ws_os_map(sizeof(*ring)))) {
      ws_store_release(&ws_rings.taken[i], 0); // [edge RING release] nothing
      return NULL;
    }
    for (uint32_t at = 0; at < WS_RING_EVENTS; at += 256) // its pages come now, not in the middle of a burst
      ws_stat_add(&ring->event[at].what, 0);
    ws_store_release(&ws_rings.ring[i], ring); // [edge RING release] its memory
    uint32_t seen = ws_expected_load(&ws_rings.count);
    while (seen <= i && !ws_cas_acq_rel(&ws_rings.count, &seen, i + 1)) // [edge RING acq_rel]
      ; // unless the owner of a higher number came first
    return ring;
  }
  return NULL;
}

ws_event_ring_t *ws_ring_take(void)
{
  ws_self_t *self = ws_self();
  const ws_worker_t *worker = self->worker;
  ws_event_ring_t *ring = ws_rings_are_own() ? find_free() : &ws_ring_none;
  if (!ring && ws_stat_add(&ws_rings.without, 1) == 0)
    ws_warn(&(ws_settings_t){0}, "deadline, record: %u threads have events; bursts of others are not judged",
            ws_hint_load(&ws_rings.count));
  if (!ring || ring == &ws_ring_none)
    return &ws_ring_none;
  uint64_t name[2] = {0};
  prctl(PR_GET_NAME, name);
  // head first: a reader that goes back in the last owner's events stops (ws_seen_back()). tid last: what is
  // its is there. A reader may find new events with the old tid: put_ring() in ws_file.c writes them again,
  // then with the new one.
  ws_store_release(&ring->head, 0); // [edge RING release] no event
  memset(&ring->depth, 0, offsetof(ws_event_ring_t, on_time) - offsetof(ws_event_ring_t, depth));
  ws_stat_store(&ring->on_time.end, 0);
  ws_stat_store(&ring->name[0], name[0]);
  ws_stat_store(&ring->name[1], name[1]);
  ws_stat_store(&ring->who, worker ? worker->pool->id << 16 | worker->index : 0);
  ws_store_release(&ring->tid, (uint64_t)ws_os_tid()); // [edge RING release] what is in it
  self->leave = give_back;
  ws_process_see_end(self);
  return ring;
}

void ws_rings_end(void)
{
  ws_self()->ring = NULL; // other threads keep theirs: they make no event
  for (uint32_t i = 0; i < ws_hint_load(&ws_rings.count); i++)
    ws_os_unmap(ws_load_acquire(&ws_rings.ring[i]), sizeof(ws_event_ring_t)); // [edge RING acquire] memory
  ws_rings.pid = 0;
}
