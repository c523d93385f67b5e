// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_seen.h
/// Events in a ring, as another thread than its owner reads them: the scribe. A place is an event's number in
/// its ring, from 0 on. And two functions of all files here: a hash, and how a value is learnt.
#ifndef WS_SEEN_H
#define WS_SEEN_H

#include "ws_rings.h" // IWYU pragma: export

#define WS_SEEN_MARGIN 512u ///< oldest events that are left out: their thread may go on meanwhile

/// @param at  from ws_seen_oldest() on, and below the head: else another event has its memory, or none yet
static inline ws_seen_t ws_seen_at(const ws_event_ring_t *ring, uint64_t at)
{
  return ws_event_read(&ring->event[at % WS_RING_EVENTS]);
}

/// @return the place from which on events can be read, at least until their owner has written WS_SEEN_MARGIN
/// more
static inline uint64_t ws_seen_oldest(const ws_event_ring_t *ring)
{
  // [edge RING acquire] the events below
  const uint64_t head = ws_load_acquire(&ring->head), most = WS_RING_EVENTS - WS_SEEN_MARGIN;
  return head > most ? head - most : 0;
}

/// @brief Read the event before @p at, which becomes its place. @return false = none can be read, and *at and
/// *it stay: it was overwritten, or the ring has a new owner. One that has come further than *at is not
/// noticed: then an event of the new owner is read, which costs a wrong cause
static inline bool ws_seen_back(const ws_event_ring_t *ring, uint64_t *at, ws_seen_t *it)
{
  if (*at <= ws_seen_oldest(ring) || *at > ws_stat_load(&ring->head)) // it may have another owner
    return false;
  *it = ws_seen_at(ring, --*at);
  return true;
}

/// @return the place below which the ring's events are not after @p ns: the oldest if all are, the head if
/// none is. By halving, as an owner's events are in order of time
static inline uint64_t ws_seen_until(const ws_event_ring_t *ring, uint64_t ns)
{
  uint64_t low = ws_seen_oldest(ring), high = ws_stat_load(&ring->head);
  while (low < high) {
    const uint64_t middle = low + (high - low) / 2;
    if (ws_seen_at(ring, middle).ns <= ns)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/// @return whether the thread sleeps after that event. A thread outside tasks that is no worker counts as
/// asleep after each wait and phase, until its next event
static inline bool ws_seen_sleeps(const ws_event_ring_t *ring, const ws_seen_t *it)
{
  const bool ends = it->kind == WS_NOTE_JOINED || it->kind == WS_NOTE_PHASE_END;
  return it->kind == WS_NOTE_SLEEP || (ends && !it->inside && ws_stat_load(&ring->who) == 0);
}

/// @return a place for that key among 1 << @p bits (1 to 32). Different keys may share one
static inline uint32_t ws_hash(uint64_t key, uint32_t bits)
{
  return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
}

/// @brief Learn a quantile without a list of values: one above what is learnt raises it by @p up 1,024ths of
/// it, one below lowers it by @p down. So it settles where up / (up + down) of the values are below.
/// @return what is learnt now: the first value as it is. 0 as either of them = there is none
static inline uint64_t ws_follow(uint64_t learnt, uint64_t value, uint32_t up, uint32_t down)
{
  const uint64_t step = learnt / 1024 + 1;
  if (learnt == 0 || value == 0)
    return learnt + value;
  return value > learnt ? learnt + up * step : learnt > down * step ? learnt - down * step : learnt;
}

#endif
