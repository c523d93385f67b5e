// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_cond.c
/// A condition variable. A wait that is signalled moves to the mutex's waits, so it runs only when it owns
/// the mutex.
///
/// cond->signals counts signals: a wait that has unlocked the mutex and is not in the lot yet sees that
/// there was one. cond->mutex is set by each wait, under the mutex; a signal finds in it, under the locks of
/// the lot, where to move the waits: a mutex of earlier waits may be gone.
#include <errno.h>

#include "../fiber/ws_lot.h"
#include "ws_sync_word.h"

typedef struct {
  ws_cond_t *cond;
  ws_mutex_t *mutex;
  uint32_t signals; ///< when the wait began
} wait_t;

static bool is_unsignalled(void *wait_arg)
{
  const wait_t *wait = wait_arg;
  // [edge SYNC acquire] the signal that comes before the wait
  return ws_load_acquire(ws_sync_word(&wait->cond->signals)) == wait->signals;
}

int ws_cond_wait_until(ws_cond_t *cond, ws_mutex_t *mutex, uint64_t deadline_ns)
{
  wait_t wait = {.cond = cond,
                 .mutex = mutex,
                 .signals = ws_load_acquire(ws_sync_word(&cond->signals))}; // [edge SYNC acquire]
  ws_store_release(ws_sync_pointer(&cond->mutex), mutex); // [edge SYNC release]
  ws_mutex_unlock(mutex);
  const int result = ws_lot_park(cond, is_unsignalled, &wait, deadline_ns, true);
  if (result != 0) // else a signal gave it the mutex
    ws_mutex_lock(mutex);
  return result == -EAGAIN ? 0 : result;
}

int ws_cond_wait(ws_cond_t *cond, ws_mutex_t *mutex)
{
  return ws_cond_wait_until(cond, mutex, WS_SYNC_NO_DEADLINE);
}

/// Under the locks of both buckets.
static bool grant(void *mutex_arg, uint32_t count, const void *wait_arg)
{
  ws_mutex_t *mutex = mutex_arg;
  const wait_t *wait = wait_arg;
  WS_REQUIRE(wait->mutex == mutex, "ws_cond_wait", "two waits at one time use different mutexes: use one");
  return ws_mutex_grant(mutex, count);
}

static void wake(ws_cond_t *cond, uint32_t count)
{
  ws_add_acq_rel(ws_sync_word(&cond->signals), 1); // [edge SYNC acq_rel]
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
