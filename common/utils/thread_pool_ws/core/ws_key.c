// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_key.c
/// ws_key.h: push tasks with a key, and cancel them (ws_keyed.h).
#include "../include/ws_key.h"

#include <errno.h>

#include "../pool/ws_lane.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "../tasks/ws_shared.h"
#include "ws_keyed.h"
#include "ws_run.h"

void ws_key_init(ws_key_t *key)
{
  *key = (ws_key_t){0};
}

/// Count the task in the present epoch. [edge KEY_EPOCH] either the cancel sees it counted in both places, or
/// the task belongs to the epoch after that.
static void count_into_epoch(ws_keyed_t *task)
{
  ws_key_t *key = task->key;
  ws_au64_t *live = ws_key_word(&key->live);
  for (;;) {
    uint64_t seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire]
    const uint32_t epoch = ws_key_epoch(seen);
    ws_group_add(ws_key_queued(key, epoch), 1);
    while (ws_key_epoch(seen) == epoch)
      if (ws_cas_acq_rel(live, &seen, seen + 1)) { // [edge KEY_EPOCH acq_rel]
        ws_init_store(ws_key_word(&task->state), (uint64_t)epoch);
        return;
      }
    ws_group_complete(ws_key_queued(key, epoch), 1);
  }
}

static ws_task_t task_of(ws_keyed_t *keyed)
{
  return (ws_task_t){.func = ws_keyed_run, .arg = keyed, .group = keyed->group, .priority = keyed->priority};
}

int ws_pool_push_keyed(ws_pool_t *pool, ws_keyed_t *task)
{
  if (!pool || !task || !task->key || !task->func)
    return -EINVAL;
  ws_key_t *key = task->key;
  task->pool = pool;
  count_into_epoch(task);
  const uint32_t epoch = ws_keyed_epoch(task); // now: once it is pushed it may be gone
  const int result = ws_pool_push(pool, task_of(task));
  if (result < 0) {
    ws_key_leave(key, epoch);
    ws_group_complete(ws_key_queued(key, epoch), 1);
  }
  return result;
}

/// End the present epoch.
/// @param crowded  out: the next epoch shares its group with tasks of an epoch that is over
/// @return the word of the epoch that is over
static uint64_t end_epoch(ws_key_t *key, bool *crowded)
{
  ws_au64_t *live = ws_key_word(&key->live);
  uint64_t seen, next;
  do {
    seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire]
    next = ((uint64_t)ws_key_epoch(seen) + 1) << 32;
    // before the next epoch's tasks are counted there
    *crowded = !ws_group_done(ws_key_queued(key, ws_key_epoch(next)));
  } while (!ws_cas_acq_rel(live, &seen, next)); // [edge KEY_EPOCH acq_rel]
  return seen;
}

int64_t ws_pool_cancel(ws_pool_t *pool, ws_key_t *key)
{
  bool crowded;
  return pool && key ? (int64_t)(uint32_t)end_epoch(key, &crowded) : -EINVAL;
}

int ws_pool_cancel_task(ws_pool_t *pool, ws_keyed_t *task)
{
  if (!pool || !task)
    return -EINVAL;
  ws_key_t *key = task->key;
  uint64_t state = ws_keyed_epoch(task);
  const uint32_t epoch = (uint32_t)state;
  // [edge KEY_EPOCH acq_rel]
  if (!ws_cas_acq_rel(ws_key_word(&task->state), &state, state | WS_KEYED_CANCELLED))
    return state & WS_KEYED_CANCELLED ? -EALREADY : -EBUSY;
  return ws_key_leave(key, epoch) ? 0 : -EALREADY;
}

// A cancel that waits: for the groups of all epochs that are over.

/// Cancelled tasks that a thread has taken out of queues.
typedef struct {
  ws_key_t *key;
  uint32_t epoch; ///< the last that is over
  ws_keyed_t *first; ///< linked by their member pool, which they do not need any more
} cancelled_t;

/// The task may be read: the caller has taken it, or holds the lock of its queue.
static bool is_cancelled(const ws_task_t *task, uint64_t index, void *cancelled_arg)
{
  (void)index;
  cancelled_t *cancelled = cancelled_arg;
  ws_keyed_t *keyed = task->arg;
  if (task->func != ws_keyed_run || keyed->key != cancelled->key
      || (int32_t)(ws_keyed_epoch(keyed) - cancelled->epoch) > 0)
    return false;
  keyed->pool = (ws_pool_t *)(void *)cancelled->first;
  cancelled->first = keyed;
  return true;
}

/// Run the tasks of epochs that are over, which skip themselves, if they lie in the caller's own queue or in
/// a pool-wide one: every worker may be busy until the caller goes on.
static void skip_queued(ws_pool_t *pool, ws_key_t *key, uint32_t epoch)
{
  const ws_here_t here = ws_here(pool);
  cancelled_t cancelled = {.key = key, .epoch = epoch};
  ws_shared_sift(&pool->tasks, is_cancelled, &cancelled);
  if (here.queue)
    ws_dig_all(here.queue, is_cancelled, &cancelled);
  ws_fill_place(pool, here); // the other tasks could not be seen for a moment
  struct ws_pool_s *const ran_in = ws_self()->runs_in;
  ws_self()->runs_in = pool;
  for (ws_keyed_t *keyed = cancelled.first, *next; keyed; keyed = next) {
    next = (ws_keyed_t *)(void *)keyed->pool;
    keyed->pool = pool;
    const ws_task_t task = task_of(keyed);
    ws_run_whole(pool, here, &task);
  }
  ws_self()->runs_in = ran_in;
  ws_note_idle(pool);
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
  const uint32_t epoch = ws_key_epoch(end_epoch(key, &crowded));
  skip_queued(pool, key, epoch);
  // tasks of earlier cancels may still be queued, too
  for (uint32_t i = crowded ? 0 : 1; i < WS_KEY_EPOCHS; i++) {
    ws_group_t *queued = ws_key_queued(key, epoch + 1 - i);
    if (!ws_group_done(queued)) // else a trace would show a join for each
      ws_group_wait(queued, NULL);
  }
  // relaxed: after the waits, which order it
  return (int64_t)ws_key_count(ws_load_relaxed(ws_key_cancelled(key, epoch)), epoch);
}
