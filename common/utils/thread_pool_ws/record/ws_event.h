// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_event.h
/// An event in a ring: when, and a word of what: 5 bits of kind (ws_note_t), one for "in a task", 10 of
/// small, 48 of address. nrbench/trace/rings.py and nrbench/live/late.py take it apart, too.
#ifndef WS_EVENT_H
#define WS_EVENT_H

#include <stdint.h>

#include "../base/ws_atomic.h" // IWYU pragma: export
#include "../trace/ws_probe.h" // IWYU pragma: export

#define WS_EVENT_SMALL_MAX 0x3ffu

typedef struct {
  ws_au64_t ns, what; ///< O ns: CLOCK_MONOTONIC; UINT64_MAX in a file = lost (ws_file.c)
} ws_ring_event_t;

/// The same, as a thread has read it.
typedef struct {
  uint64_t ns, address;
  uint32_t kind, small;
  bool inside; ///< in a task; of RUN and RAN: in another one around theirs
} ws_seen_t;

/// @return the second word of an event. Of small and address the bits without room are cut off: pools whose
/// ids differ by 1,024 have the same small
static inline uint64_t ws_event_what(ws_note_t kind, bool in_task, uint64_t small, uint64_t address)
{
  return (uint64_t)kind | (uint64_t)in_task << 5 | (small & WS_EVENT_SMALL_MAX) << 6 | address << 16;
}

/// @return the event. If its owner overwrites it meanwhile, ns may be of one event, and the rest of another:
/// ws_seen.h leaves out those which that can happen to
static inline ws_seen_t ws_event_read(const ws_ring_event_t *event)
{
  const uint64_t what = ws_stat_load(&event->what);
  return (ws_seen_t){.ns = ws_stat_load(&event->ns),
                     .address = what >> 16,
                     .kind = what & 31,
                     .small = what >> 6 & WS_EVENT_SMALL_MAX,
                     .inside = what >> 5 & 1};
}

#endif
