// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_event.c
/// sim_event.h: a binary heap.
#include "sim_event.h"

#include <stdio.h>
#include <stdlib.h>

sim_ps_t sim_event_soonest_ps = INT64_MAX;
uint64_t sim_event_hash;

static struct {
  sim_event_t *heap;
  size_t count, capacity;
  uint64_t order;
} events;

static bool is_before(const sim_event_t *a, const sim_event_t *b)
{
  return a->at_ps < b->at_ps || (a->at_ps == b->at_ps && a->order < b->order);
}

static void make_room(void)
{
  if (events.count < events.capacity)
    return;
  events.capacity = events.capacity > 0 ? 2 * events.capacity : 1024;
  events.heap = realloc(events.heap, events.capacity * sizeof(*events.heap));
  if (!events.heap) {
    fprintf(stderr, "simulate: no memory for events\n");
    abort();
  }
}

void sim_event_add(sim_event_t event)
{
  make_room();
  event.order = events.order++;
  size_t at = events.count++;
  for (; at > 0 && is_before(&event, &events.heap[(at - 1) / 2]); at = (at - 1) / 2)
    events.heap[at] = events.heap[(at - 1) / 2];
  events.heap[at] = event;
  sim_event_soonest_ps = events.heap[0].at_ps;
}

static void sift_down(const sim_event_t *event)
{
  size_t at = 0;
  for (size_t child = 1; child < events.count; child = 2 * at + 1) {
    if (child + 1 < events.count && is_before(&events.heap[child + 1], &events.heap[child]))
      child++;
    if (!is_before(&events.heap[child], event))
      break;
    events.heap[at] = events.heap[child];
    at = child;
  }
  events.heap[at] = *event;
}

bool sim_event_next(sim_event_t *event)
{
  if (events.count == 0)
    return false;
  *event = events.heap[0];
  const uint64_t what = (uint64_t)event->kind << 62 ^ (uint64_t)event->subject << 48;
  sim_event_hash = (sim_event_hash ^ (uint64_t)event->at_ps ^ what) * UINT64_C(0x100000001b3);
  const sim_event_t last = events.heap[--events.count];
  if (events.count > 0)
    sift_down(&last);
  sim_event_soonest_ps = events.count > 0 ? events.heap[0].at_ps : INT64_MAX;
  return true;
}
