// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_room.c
/// tpool_room.h: the begin and the end of a room, and threads that block.
#define _GNU_SOURCE
#include "private/tpool_room.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/// In sleepers: a thread waits until the last of them has left.
#define ENDING (UINT32_C(1) << 31)

/// Sleep while @p word is @p seen. No cancellation point.
static void futex_wait(ws_au32_t *word, uint32_t seen)
{
  syscall(SYS_futex, &word->v, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
}

static void futex_wake(ws_au32_t *word, int threads)
{
  syscall(SYS_futex, &word->v, FUTEX_WAKE_PRIVATE, threads, NULL, NULL, 0);
}

bool tpool_room_init(tpool_room_t *room, uint32_t count, uint32_t workers)
{
  *room = (tpool_room_t){0};
  return api_places_init(&room->places, count, workers);
}

void tpool_room_end(tpool_room_t *room)
{
  api_places_free(&room->places);
}

void tpool_room_await_left(tpool_room_t *room)
{
  uint32_t sleepers = ws_or_acq_rel(&room->sleepers, ENDING) | ENDING; // [edge ROOM_LEFT acq_rel]
  while (sleepers != ENDING) {
    futex_wait(&room->sleepers, sleepers);
    sleepers = ws_load_acquire(&room->sleepers); // [edge ROOM_LEFT acquire]
  }
  ws_store_relaxed(&room->sleepers, 0); // relaxed: gives to come need not wake any thread
}

static void wake(tpool_room_t *room, int threads)
{
  ws_add_release(&room->turns, 1); // [edge ROOM_TURN release] a thread that read turns before looks again
  futex_wake(&room->turns, threads);
}

void tpool_room_close(tpool_room_t *room)
{
  uint32_t open = TPOOL_ROOM_OPEN;
  ws_cas_acq_rel(&room->closed, &open, TPOOL_ROOM_CLOSED); // [edge ROOM_TURN acq_rel] unless it is cleared
}

bool tpool_room_clear(tpool_room_t *room)
{
  // [edge ROOM_TURN acq_rel] before turns
  if (ws_xchg_acq_rel(&room->closed, TPOOL_ROOM_CLEARED) == TPOOL_ROOM_CLEARED)
    return false;
  wake(room, INT_MAX);
  return true;
}

void tpool_room_signal(tpool_room_t *room)
{
  wake(room, 1);
}

bool tpool_room_wait(tpool_room_t *room)
{
  ws_add_seq_cst(&room->sleepers, 1); // [edge ROOM_DEKKER acq_rel] before the sum of given
  for (;;) {
    // [edge ROOM_TURN acquire] before closed and the places
    const uint32_t seen = ws_load_acquire(&room->turns);
    if (tpool_room_is_cleared(room))
      return false;
    if (api_places_take(&room->places))
      return true;
    futex_wait(&room->turns, seen);
  }
}

void tpool_room_await_empty(tpool_room_t *room)
{
  ws_add_seq_cst(&room->sleepers, 1); // [edge ROOM_DEKKER acq_rel] before the sum of given
  for (;;) {
    const uint32_t seen = ws_load_acquire(&room->turns); // [edge ROOM_TURN acquire] before the places
    const uint64_t given = api_places_sum(&room->places); // before taken: equal numbers were so at one moment
    // [edge PLACE acq_rel] a read-modify-write: a thread that takes a place later sees what the caller wrote
    if (ws_add_acq_rel(&room->places.taken, 0) == given)
      break;
    futex_wait(&room->turns, seen);
  }
  tpool_room_leave(room);
}

void tpool_room_leave(tpool_room_t *room)
{
  ws_au32_t *sleepers = &room->sleepers; // no access after the subtraction: the room may be gone
  if (ws_sub_acq_rel(sleepers, 1) == (ENDING | 1)) // [edge ROOM_LEFT acq_rel]
    futex_wake(sleepers, INT_MAX);
}
