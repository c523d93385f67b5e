// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_event.h
/// An event in a ring: when, and a word of what: 5 bits of kind (ws_note_t), one for "in a task", 10 of
/// small, 48 of address. nrbench/trace/rings.py takes it apart, too.
#ifndef WS_EVENT_H
#define WS_EVENT_H

#include <stdint.h>

#include "../base/ws_atomic.h" // IWYU pragma: export
#include "../trace/ws_probe.h" // IWYU pragma: export

#define WS_EVENT_SMALL_MAX 0x3ffu

typedef struct {
  ws_au64_t ns, what; ///< O
} ws_ring_event_t;

static inline uint64_t ws_event_what(ws_note_t kind, bool in_task, uint64_t small, uint64_t address)
{
  return (uint64_t)kind | (uint64_t)in_task << 5 | (small & WS_EVENT_SMALL_MAX) << 6 | address << 16;
}

static inline uint32_t ws_event_kind(uint64_t what)
{
  return what & 31;
}

static inline bool ws_event_in_task(uint64_t what)
{
  return what >> 5 & 1;
}

static inline uint32_t ws_event_small(uint64_t what)
{
  return what >> 6 & WS_EVENT_SMALL_MAX;
}

static inline uint64_t ws_event_address(uint64_t what)
{
  return what >> 16;
}

/// @return the event with a small that is larger by one
static inline uint64_t ws_event_once_more(uint64_t what)
{
  return what + (1 << 6);
}

#endif
