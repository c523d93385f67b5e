// SPDX-License-Identifier: BSD-3-Clause
/// @file api_places.h
/// Places in something bounded, each free or taken. Counts only: nothing lies in a place.
///
/// Threads that take places write one word, threads that give them back write other words, one for each
/// worker. So a thread that posts and a thread that runs tasks share no line that both write at each task.
///
/// Invariant    All counts only grow, and 0 <= taken - (sum of given) <= capacity. given_seen is a value that
///              the sum has had, so taken - given_seen < capacity is enough to take a place.
/// Exact        A take fails only if all places were taken at one moment during the call: when it began to
///              add up given. At that moment taken was at least what the take had read before, and each count
///              of given was at most what the sum has of it.
/// Wrap-around  64 bits: none.
#ifndef API_PLACES_H
#define API_PLACES_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../base/ws_atomic.h" // IWYU pragma: export
#include "../../base/ws_base.h" // IWYU pragma: export
#include "ws_pool.h" // IWYU pragma: export

typedef struct {
  alignas(WS_SPACING) ws_au64_t count;
} api_given_t;

typedef struct {
  alignas(WS_SPACING) ws_au64_t taken; ///< places taken since the start
  ws_au64_t given_seen; ///< a value that the sum of given has had
  alignas(WS_SPACING) uint64_t capacity; ///< read only, as the rest
  uint32_t lines;
  api_given_t *given; ///< [lines] places given back since the start: by threads outside, then by each worker
} api_places_t;

/// @return false: no memory
bool api_places_init(api_places_t *places, uint64_t capacity, uint32_t workers);
void api_places_free(api_places_t *places);

/// @brief Add up the places given back. @return the sum, at least what it was when the call began
uint64_t api_places_sum(api_places_t *places);

/// @brief Take a place. @return false: all places were taken at a moment during the call
static inline bool api_places_take(api_places_t *places)
{
  uint64_t taken = ws_expected_load(&places->taken); // an old value is too small
  // [edge PLACE acquire] what the threads did before they gave those places back
  while (WS_LIKELY((int64_t)(taken - ws_load_acquire(&places->given_seen)) < (int64_t)places->capacity)
         || (int64_t)(taken - api_places_sum(places)) < (int64_t)places->capacity)
    if (ws_cas_acq_rel(&places->taken, &taken, taken + 1)) // [edge PLACE acq_rel] one taker a place
      return true;
  return false;
}

/// @brief Give a place back. A read-modify-write, because a worker of one pool may help in another, where a
/// worker has the same number.
static inline void api_places_give(api_places_t *places)
{
  const uint32_t own = (uint32_t)(ws_worker_index() + 1);
  const uint32_t line = WS_LIKELY(own < places->lines) ? own : 0; // a division would be slow
  // [edge PLACE acq_rel] the place is not used any more; [edge ROOM_DEKKER acq_rel] before sleepers
  ws_add_seq_cst(&places->given[line].count, 1);
}

#endif
