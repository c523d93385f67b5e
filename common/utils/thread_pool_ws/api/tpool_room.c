// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_room.c
/// tpool_room.h: the begin and the end of a room, and threads that block.
#define _GNU_SOURCE
#include "private/tpool_room.h"

#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/// In sleepers: the room's end waits for the last of them.
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

bool tpool_room_init(tpool_room_t *room, uint32_t count)
{
  *room = (tpool_room_t){.word = {1}, .next = calloc(count + 1, sizeof *room->next)};
  for (uint32_t number = 1; room->next && number < count; number++)
    ws_store_relaxed(&room->next[number], number + 1); // relaxed: no other thread has the room yet
  return room->next != NULL;
}

void tpool_room_end(tpool_room_t *room)
{
  uint32_t sleepers = ws_or_acq_rel(&room->sleepers, ENDING) | ENDING; // [edge ROOM_LEFT acq_rel]
  while (sleepers != ENDING) {
    futex_wait(&room->sleepers, sleepers);
    sleepers = ws_load_acquire(&room->sleepers); // [edge ROOM_LEFT acquire]
  }
  free(room->next);
}

static void wake(tpool_room_t *room, int threads)
{
  ws_add_release(&room->turns, 1); // [edge ROOM_TURN release] a thread that read the word before looks again
  futex_wake(&room->turns, threads);
}

bool tpool_room_close(tpool_room_t *room)
{
  // [edge ROOM acq_rel] after this no thread goes to sleep
  if ((ws_or_acq_rel(&room->word, TPOOL_ROOM_CLOSED) & TPOOL_ROOM_CLOSED) != 0)
    return false;
  wake(room, INT_MAX);
  return true;
}

void tpool_room_signal(tpool_room_t *room)
{
  uint64_t word = ws_load_acquire(&room->word); // [edge ROOM acquire] sleepers, of those that set ASLEEP
  if (ws_load_relaxed(&room->sleepers) != 0) // relaxed: after the word
    wake(room, 1);
  else if ((word & TPOOL_ROOM_ASLEEP) != 0) // [edge ROOM acq_rel] fails if a thread has joined the sleepers
    ws_cas_acq_rel(&room->word, &word, (word & ~TPOOL_ROOM_ASLEEP) + TPOOL_ROOM_CHANGE);
}

uint32_t tpool_room_wait(tpool_room_t *room)
{
  ws_add_relaxed(&room->sleepers, 1); // relaxed: published with the word
  for (;;) {
    const uint32_t seen = ws_load_acquire(&room->turns); // [edge ROOM_TURN acquire] before the word
    uint64_t word = ws_load_acquire(&room->word); // [edge ROOM acquire] next[]
    if ((word & TPOOL_ROOM_CLOSED) != 0)
      return 0;
    if ((word & TPOOL_ROOM_NUMBER) != 0) {
      if (tpool_room_claim(room, word))
        return (uint32_t)(word & TPOOL_ROOM_NUMBER);
      continue;
    }
    const uint64_t after = (word | TPOOL_ROOM_ASLEEP) + TPOOL_ROOM_CHANGE;
    if (ws_cas_acq_rel(&room->word, &word, after)) // [edge ROOM acq_rel] the caller in sleepers
      futex_wait(&room->turns, seen);
  }
}

void tpool_room_leave(tpool_room_t *room)
{
  ws_au32_t *sleepers = &room->sleepers; // no access after the subtraction: the room may be gone
  if (ws_sub_acq_rel(sleepers, 1) == (ENDING | 1)) // [edge ROOM_LEFT acq_rel]
    futex_wake(sleepers, INT_MAX);
}
