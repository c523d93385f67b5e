// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_cond.c
/// A condition variable. A wait that is signalled moves to the mutex's waits, so it runs only when it owns
/// the mutex.
///
/// The mutex is unlocked when the wait is in the lot. So a signal finds each wait whose unlock it has seen,
/// and no wait reads the condition variable after that: it may be destroyed after the signal that ends its
/// last wait. cond->mutex is set by each wait, under the mutex; a signal finds in it, under the locks of the
/// lot, where to move the waits: a mutex of earlier waits may be gone.
#include "../fiber/ws_lot.h"
#include "ws_sync_word.h"

static void unlock(void *mutex)
{
  ws_mutex_unlock(mutex);
}

int ws_cond_wait_until(ws_cond_t *cond, ws_mutex_t *mutex, uint64_t deadline_ns)
{
  ws_store_release(ws_sync_pointer(&cond->mutex), mutex); // [edge SYNC release]
  const int result = ws_lot_park_then(cond, unlock, mutex, deadline_ns);
  if (result != 0) // else a signal gave it the mutex
    ws_mutex_lock(mutex);
  return result;
}

int ws_cond_wait(ws_cond_t *cond, ws_mutex_t *mutex)
{
  return ws_cond_wait_until(cond, mutex, WS_SYNC_NO_DEADLINE);
}

/// Under the locks of both buckets.
static bool grant(void *mutex, uint32_t count, const void *waits_with)
{
  WS_REQUIRE(waits_with == mutex, "ws_cond_wait", "two waits at one time use different mutexes: use one");
  return ws_mutex_grant(mutex, count);
}

static void wake(ws_cond_t *cond, uint32_t count)
{
  if (ws_load_acquire(ws_sync_pointer(&cond->mutex)) != NULL) // [edge SYNC acquire] else no wait has begun
    ws_lot_move(cond, ws_sync_pointer(&cond->mutex), count, grant);
}

void ws_cond_signal(ws_cond_t *cond)
{
  wake(cond, 1);
}

void ws_cond_broadcast(ws_cond_t *cond)
{
  wake(cond, UINT32_MAX);
}
