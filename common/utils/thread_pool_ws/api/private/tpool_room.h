// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_room.h
/// The room in a buffer: numbers 1 .. count, each free or taken. A take, and a give, is one compare-and-swap.
/// A thread that finds no number free may block until one is given back.
///
/// word      bits 0..20   the first free number, 0 = none; next[] links the others
///           bit  21      ASLEEP: a thread may sleep. Legal to be set although none sleeps (the next give
///                        clears it). Illegal to be clear while a thread sleeps
///           bit  22      CLOSED: no number is taken any more
///           bits 23..63  changes: a compare-and-swap fails if a number was taken and given in between
///
/// A thread goes to sleep in this order: it adds itself to sleepers, reads turns, sees in word that no number
/// is free, sets ASLEEP by a compare-and-swap of word (also if the bit is set), sleeps if turns has not
/// changed. A give adds a number by a compare-and-swap of word. Changes of word have one order:
/// - the give comes first: the sleeper's compare-and-swap fails, it looks again;
/// - the sleeper comes first: the give sees ASLEEP and the sleeper in sleepers, changes turns, and wakes one
///   thread: this one, or one that sleeps.
/// So each give wakes a thread as long as any sleeps, and does not rely on a woken thread to wake the next.
/// ASLEEP is cleared by a give that finds no sleepers after it has read word: a thread that joins them after
/// that changes word, and then the clearing compare-and-swap fails, or comes before ASLEEP is set.
#ifndef TPOOL_ROOM_H
#define TPOOL_ROOM_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../base/ws_atomic.h"

#define TPOOL_ROOM_NUMBER ((UINT64_C(1) << 21) - 1)
#define TPOOL_ROOM_ASLEEP (UINT64_C(1) << 21)
#define TPOOL_ROOM_CLOSED (UINT64_C(1) << 22)
#define TPOOL_ROOM_CHANGE (UINT64_C(1) << 23)

typedef struct {
  alignas(128) ws_au64_t word;
  ws_au32_t *next; ///< [number] the free number after this one
  ws_au32_t turns; ///< changes with each wake; blocked threads sleep on it
  ws_au32_t sleepers; ///< threads in tpool_room_wait(), until tpool_room_leave(); bit 31: the last must wake
} tpool_room_t;

/// @brief Make @p count numbers free. @return false: no memory
bool tpool_room_init(tpool_room_t *room, uint32_t count);

/// @brief Free the memory, after the last thread between tpool_room_wait() and tpool_room_leave() has left.
void tpool_room_end(tpool_room_t *room);

/// @brief Take no number any more; blocked threads return. @return false: the room was closed before
bool tpool_room_close(tpool_room_t *room);

/// @brief Block until there is a number to take, or the room is closed. The caller must call
/// tpool_room_leave() as its last access to the room. @return the number; 0 = closed
uint32_t tpool_room_wait(tpool_room_t *room);
void tpool_room_leave(tpool_room_t *room);

/// @brief Wake one of the blocked threads, if there are any.
void tpool_room_signal(tpool_room_t *room);

static inline bool tpool_room_is_closed(const tpool_room_t *room)
{
  return (ws_load_relaxed(&room->word) & TPOOL_ROOM_CLOSED) != 0; // relaxed: closing takes effect soon
}

/// @brief Take the first free number of @p word, which was loaded from the room's. @return whether it was
/// still free
static inline bool tpool_room_claim(tpool_room_t *room, uint64_t word)
{
  // relaxed: published with the word; an old value comes with an old word, and the compare-and-swap fails
  const uint64_t next = ws_load_relaxed(&room->next[word & TPOOL_ROOM_NUMBER]);
  const uint64_t after = ((word & ~TPOOL_ROOM_NUMBER) + TPOOL_ROOM_CHANGE) | next;
  return ws_cas_acq_rel(&room->word, &word, after); // [edge ROOM acq_rel]
}

/// @return a number that was free; 0 = none is, or the room is closed
static inline uint32_t tpool_room_take(tpool_room_t *room)
{
  for (;;) {
    const uint64_t word = ws_load_acquire(&room->word); // [edge ROOM acquire] next[], before it is read
    if ((word & TPOOL_ROOM_NUMBER) == 0 || (word & TPOOL_ROOM_CLOSED) != 0)
      return 0;
    if (tpool_room_claim(room, word))
      return (uint32_t)(word & TPOOL_ROOM_NUMBER);
  }
}

/// @brief Give a number back.
static inline void tpool_room_give(tpool_room_t *room, uint32_t number)
{
  uint64_t word = ws_load_relaxed(&room->word); // relaxed: the compare-and-swap checks it
  uint64_t after;
  do {
    // relaxed: published with the word
    ws_store_relaxed(&room->next[number], (uint32_t)(word & TPOOL_ROOM_NUMBER));
    after = ((word & ~TPOOL_ROOM_NUMBER) + TPOOL_ROOM_CHANGE) | number;
  } while (!ws_cas_acq_rel(&room->word, &word, after)); // [edge ROOM acq_rel] what the number stands for
  if (__builtin_expect((word & TPOOL_ROOM_ASLEEP) != 0, 0))
    tpool_room_signal(room);
}

#endif
