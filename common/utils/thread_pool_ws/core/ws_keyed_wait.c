// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed_wait.c
/// ws_key.h: a cancel that waits. It waits for the groups of all epochs that are over.
#include <errno.h>

#include "../pool/ws_lane.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "../tasks/ws_shared.h"
#include "ws_keyed.h"
#include "ws_run.h"

/// Cancelled tasks that a thread has taken out of queues.
typedef struct {
  ws_key_t *key;
  uint32_t epoch; ///< the last that is over
  ws_keyed_t *first; ///< linked by their member pool, which they do not need any more
} cancelled_t;

/// The task may be read: the caller has taken it, or holds the lock of its queue.
static bool is_cancelled(const ws_task_t *task, void *cancelled_arg)
{
  cancelled_t *cancelled = cancelled_arg;
  ws_keyed_t *keyed = task->arg;
  if (task->func != ws_keyed_run || keyed->key != cancelled->key
      || (int32_t)(ws_keyed_epoch(keyed) - cancelled->epoch) > 0)
    return false;
  keyed->pool = (ws_pool_t *)(void *)cancelled->first;
  cancelled->first = keyed;
  return true;
}

/// Skip the tasks that lie in the caller's own queue, or in one that all threads share: every worker may be
/// busy until the caller goes on.
static void skip_queued(ws_pool_t *pool, ws_key_t *key, uint32_t epoch)
{
  const ws_here_t here = ws_here(pool);
  cancelled_t cancelled = {.key = key, .epoch = epoch};
  uint64_t taken = ws_shared_sift(&pool->tasks, is_cancelled, &cancelled);
  if (here.queue)
    taken += ws_dig_all(here.queue, is_cancelled, &cancelled);
  ws_fill_place(pool, here); // the other tasks could not be seen for a moment
  if (taken == 0)
    return;
  for (ws_keyed_t *keyed = cancelled.first, *next; keyed; keyed = next) {
    next = (ws_keyed_t *)(void *)keyed->pool;
    keyed->pool = pool;
    const ws_task_t task = {
        .func = ws_keyed_run, .arg = keyed, .group = keyed->group, .priority = keyed->priority};
    if (here.queue)
      ws_run_whole(pool, here.queue, &task);
    else
      ws_run_late(pool, here, &task);
  }
  ws_note_idle(pool);
}

static void await_epoch(ws_key_t *key, uint32_t epoch)
{
  if (!ws_group_done(ws_key_queued(key, epoch)))
    ws_group_wait(ws_key_queued(key, epoch), NULL);
}

int64_t ws_pool_cancel_wait(ws_pool_t *pool, ws_key_t *key)
{
  if (!pool || !key)
    return -EINVAL;
  if (ws_is_lost(pool))
    return -ESRCH;
  if (ws_current_task())
    return -EDEADLK;
  bool crowded;
  const uint32_t epoch = ws_key_epoch_of(ws_key_end_epoch(key, &crowded));
  skip_queued(pool, key, epoch);
  // tasks of earlier cancels may still be queued, too
  for (uint32_t back = 0; back + 1 < WS_KEY_EPOCHS; back++)
    await_epoch(key, epoch - back);
  if (crowded)
    await_epoch(key, epoch + 1);
  // relaxed: after the waits, which order it
  return (int64_t)ws_key_count(ws_load_relaxed(ws_key_cancelled(key, epoch)), epoch);
}
