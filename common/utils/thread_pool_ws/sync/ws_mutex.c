// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_mutex.c
/// A mutex that is handed over to the oldest wait.
///
/// word: FREE(0) --lock--> LOCKED --a wait begins--> LOCKED|WAITED --unlock, the last wait gets it--> LOCKED
///       LOCKED --unlock--> FREE
///   WAITED changes under the lock of the bucket only. Legal: set although no wait is left (one look too
///   many). Illegal: clear while a wait is in the lot.
#include <errno.h>

#include "../fiber/ws_lot.h"
#include "../include/ws_fiber.h"
#include "ws_sync_word.h"

#define LOCKED 1u
#define WAITED 2u

static inline bool take_free(ws_mutex_t *mutex)
{
  uint32_t seen = 0;
  return ws_cas_acq_rel(ws_sync_word(&mutex->word), &seen, LOCKED); // [edge SYNC acq_rel]
}

bool ws_mutex_trylock(ws_mutex_t *mutex)
{
  if (WS_LIKELY(take_free(mutex)))
    return true;
  ws_yield_sometimes(); // the owner may need this worker
  return false;
}

/// Announce the wait. @return whether the mutex is locked: if it is free, the caller gets it
static bool is_locked(void *mutex_arg)
{
  ws_au32_t *word = ws_sync_word(&((ws_mutex_t *)mutex_arg)->word);
  uint32_t seen = ws_expected_load(word);
  for (;;) {
    const uint32_t next = seen & LOCKED ? seen | WAITED : seen | LOCKED;
    if (ws_cas_acq_rel(word, &seen, next)) // [edge SYNC acq_rel]
      return seen & LOCKED;
  }
}

static int lock_slow(ws_mutex_t *mutex, uint64_t deadline_ns, bool can_cancel)
{
  const int result = ws_lot_park(mutex, is_locked, mutex, deadline_ns, can_cancel);
  return result == -EAGAIN ? 0 : result; // it was free, and is the caller's; or it was handed over
}

void ws_mutex_lock(ws_mutex_t *mutex)
{
  if (!take_free(mutex))
    lock_slow(mutex, WS_SYNC_NO_DEADLINE, false);
}

int ws_mutex_lock_until(ws_mutex_t *mutex, uint64_t deadline_ns)
{
  return take_free(mutex) ? 0 : lock_slow(mutex, deadline_ns, true);
}

/// Under the lock of the bucket: the mutex has a new owner, or none.
static void hand_over(void *mutex_arg, uint32_t woken, bool more)
{
  ws_au32_t *word = ws_sync_word(&((ws_mutex_t *)mutex_arg)->word);
  ws_store_release(word, woken ? LOCKED | (more ? WAITED : 0) : 0); // [edge SYNC release]
}

void ws_mutex_unlock(ws_mutex_t *mutex)
{
  uint32_t seen = LOCKED;
  if (ws_cas_acq_rel(ws_sync_word(&mutex->word), &seen, 0)) // [edge SYNC acq_rel]
    return;
  WS_REQUIRE(seen & LOCKED, "ws_mutex_unlock", "the mutex is not locked");
  ws_lot_unpark(mutex, 1, hand_over, mutex);
}

bool ws_mutex_grant(ws_mutex_t *mutex, uint32_t count)
{
  ws_au32_t *word = ws_sync_word(&mutex->word);
  uint32_t seen = ws_expected_load(word);
  for (;;) {
    const uint32_t waited = seen & LOCKED || count > 1 ? WAITED : 0;
    if (ws_cas_acq_rel(word, &seen, seen | LOCKED | waited)) // [edge SYNC acq_rel]
      return !(seen & LOCKED);
  }
}
