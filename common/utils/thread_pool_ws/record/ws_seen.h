// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_seen.h
/// Events in a ring, as another thread than its owner reads them.
#ifndef WS_SEEN_H
#define WS_SEEN_H

#include "ws_rings.h" // IWYU pragma: export

#define WS_SEEN_MARGIN 512u ///< oldest events that are left out: their thread may go on meanwhile

static inline ws_seen_t ws_seen_at(const ws_event_ring_t *ring, uint64_t at)
{
  return ws_event_read(&ring->event[at % WS_RING_EVENTS]);
}

/// @return where the events begin that can be read
static inline uint64_t ws_seen_oldest(const ws_event_ring_t *ring)
{
  // [edge RING acquire] the events below
  const uint64_t head = ws_load_acquire(&ring->head), most = WS_RING_EVENTS - WS_SEEN_MARGIN;
  return head > most ? head - most : 0;
}

/// @brief Read the event before @p at, which becomes its place. @return false = none can be read
static inline bool ws_seen_back(const ws_event_ring_t *ring, uint64_t *at, ws_seen_t *it)
{
  if (*at <= ws_seen_oldest(ring) || *at > ws_stat_load(&ring->head)) // it may have another owner
    return false;
  *it = ws_seen_at(ring, --*at);
  return true;
}

/// @return the place below which the ring's events are not after @p ns
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

/// @return whether the thread sleeps after that event: one outside between its bursts, too
static inline bool ws_seen_sleeps(const ws_event_ring_t *ring, const ws_seen_t *it)
{
  const bool ends = it->kind == WS_NOTE_JOINED || it->kind == WS_NOTE_PHASE_END;
  return it->kind == WS_NOTE_SLEEP || (ends && !it->inside && ws_stat_load(&ring->who) == 0);
}

/// @return a place for that key among 1 << @p bits
static inline uint32_t ws_hash(uint64_t key, uint32_t bits)
{
  return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> (64 - bits));
}

/// @return what is learnt, nearer to a value: to the quantile up / (up + down). 0 = no value
static inline uint64_t ws_follow(uint64_t learnt, uint64_t value, uint32_t up, uint32_t down)
{
  const uint64_t step = learnt / 1024 + 1;
  if (learnt == 0 || value == 0)
    return learnt + value;
  return value > learnt ? learnt + up * step : learnt > down * step ? learnt - down * step : learnt;
}

#endif
