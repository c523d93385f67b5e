// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_room.h
/// The room in a buffer: places (api_places.h), and threads that block until one is free.
///
/// A thread goes to sleep in this order: it adds itself to sleepers, reads turns, finds no place free, sleeps
/// if turns has not changed. A give first gives the place back, then reads sleepers; if there are any, it
/// changes turns and wakes one thread. All four accesses of given and sleepers are sequentially consistent,
/// so either the give sees the sleeper, or the sleeper sees the place [edge ROOM_DEKKER]:
/// - the give sees the sleeper: turns changes. The sleeper has read turns before and does not sleep, or
///   sleeps and is one of those that the wake chooses from, or reads turns after and looks again;
/// - the sleeper sees the place: it takes it.
/// So each give wakes a thread as long as any sleeps, and does not rely on a woken thread to wake the next.
#ifndef TPOOL_ROOM_H
#define TPOOL_ROOM_H

#include "api_places.h" // IWYU pragma: export

/// closed: OPEN --close--> CLOSED --clear--> CLEARED; OPEN --clear--> CLEARED
enum {
  TPOOL_ROOM_OPEN,
  TPOOL_ROOM_CLOSED, ///< no thread may begin to wait. Those that block get their places
  TPOOL_ROOM_CLEARED, ///< threads that block return without a place
};

typedef struct {
  api_places_t places;
  /// Threads in tpool_room_wait(), until tpool_room_leave(), or in tpool_room_await_empty(); bit 31: the last
  /// must wake
  alignas(WS_SPACING) ws_au32_t sleepers;
  ws_au32_t closed; ///< TPOOL_ROOM_*
  ws_au32_t turns; ///< changes with each wake; blocked threads sleep on it
} tpool_room_t;

/// @brief Make @p count places, all free. @return false: no memory
bool tpool_room_init(tpool_room_t *room, uint32_t count, uint32_t workers);

/// @brief Free the memory. No thread may use the room any more.
void tpool_room_end(tpool_room_t *room);

/// @brief Have tpool_room_is_closed() be true.
void tpool_room_close(tpool_room_t *room);

/// @brief The same, and blocked threads return. @return false: the room was cleared before
bool tpool_room_clear(tpool_room_t *room);

/// @brief Block until a place is taken, or the room is cleared. The caller must call tpool_room_leave() as
/// its last access to the room. @return whether it has taken a place
bool tpool_room_wait(tpool_room_t *room);
void tpool_room_leave(tpool_room_t *room);

/// @brief Block until no thread is between tpool_room_wait() and tpool_room_leave(). The room must be closed.
void tpool_room_await_left(tpool_room_t *room);

/// @brief Block until no place is taken. The room must be cleared, so that no other thread blocks any more.
void tpool_room_await_empty(tpool_room_t *room);

/// @brief Wake one of the blocked threads.
void tpool_room_signal(tpool_room_t *room);

static inline bool tpool_room_is_closed(const tpool_room_t *room)
{
  return ws_load_relaxed(&room->closed) != TPOOL_ROOM_OPEN; // relaxed: takes effect soon
}

static inline bool tpool_room_is_cleared(const tpool_room_t *room)
{
  return ws_load_relaxed(&room->closed) == TPOOL_ROOM_CLEARED; // relaxed: as above; the core refuses later
}

/// @brief Give a place back.
static inline void tpool_room_give(tpool_room_t *room)
{
  api_places_give(&room->places);
  if (WS_UNLIKELY(ws_load_seq_cst(&room->sleepers) != 0)) // [edge ROOM_DEKKER acquire] after the place
    tpool_room_signal(room);
}

#endif
