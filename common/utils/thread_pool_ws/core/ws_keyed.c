// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.c
/// ws_key.h. A cancel begins a new epoch of the key; a task whose epoch is over is skipped when its turn
/// comes. The tasks of an epoch are counted in one of WS_KEY_EPOCHS groups. A cancel that waits waits for the
/// groups of all epochs that are over.
#include "ws_keyed.h"

#include <errno.h>

#include "../pool/ws_lane.h"
#include "../pool/ws_queue.h"
#include "../sleep/ws_wake.h"
#include "../trace/ws_traced.h"
#include "ws_run.h"

/// The words of a key are plain in C++, so the atomic types are laid over them.
static ws_au64_t *epoch_of(ws_key_t *key)
{
  return (ws_au64_t *)(void *)&key->epoch;
}

static ws_au64_t *cancelled_in(ws_key_t *key, uint64_t epoch)
{
  return (ws_au64_t *)(void *)&key->cancelled[epoch % WS_KEY_EPOCHS];
}

/// A word counts the skipped tasks of one epoch; an earlier epoch's count is void.
static uint64_t count_of(uint64_t word, uint64_t epoch)
{
  return word >> 32 == (uint32_t)epoch ? (uint32_t)word : 0;
}

static void count_cancelled(ws_key_t *key, uint64_t epoch)
{
  ws_au64_t *word = cancelled_in(key, epoch);
  uint64_t seen = ws_load_relaxed(word), next; // relaxed: the CAS decides
  do {
    if ((int32_t)((uint32_t)(seen >> 32) - (uint32_t)epoch) > 0)
      return; // a later epoch has the word
    next = epoch << 32 | (count_of(seen, epoch) + 1);
  } while (!ws_cas_acq_rel(word, &seen, next)); // [edge KEY_EPOCH acq_rel] a count: the completion orders it
}

static ws_group_t *queued_in(ws_key_t *key, uint64_t epoch)
{
  return &key->queued[epoch % WS_KEY_EPOCHS];
}

void ws_key_init(ws_key_t *key)
{
  *key = (ws_key_t){0};
}

/// Count the task in the present epoch. [edge KEY_EPOCH] either the cancel sees it counted, or it sees the
/// cancel and belongs to the epoch after that.
static void enter(ws_keyed_t *task)
{
  ws_key_t *key = task->key;
  for (;;) {
    task->epoch = ws_load_acquire(epoch_of(key)); // [edge KEY_EPOCH acquire]
    ws_group_add(queued_in(key, task->epoch), 1);
    ws_fence_seq_cst(); // [edge KEY_EPOCH fence] the count before the epoch
    if (ws_load_relaxed(epoch_of(key)) == task->epoch) // relaxed: after the fence
      return;
    ws_group_complete(queued_in(key, task->epoch), 1);
  }
}

/// The task is not queued any more. The key may be gone afterwards.
static void leave(ws_key_t *key, uint64_t epoch, bool skipped)
{
  if (skipped)
    count_cancelled(key, epoch);
  ws_group_complete(queued_in(key, epoch), 1);
}

static void skip(const ws_keyed_t *keyed)
{
  const ws_keyed_t task = *keyed; // on_cancel may free it
  ws_add_relaxed(&task.pool->cancelled, 1); // relaxed: a statistic
  if (task.on_cancel)
    task.on_cancel(task.arg);
  leave(task.key, task.epoch, true);
}

void ws_keyed_run(void *keyed_arg)
{
  const ws_keyed_t *keyed = keyed_arg;
  if (ws_load_acquire(epoch_of(keyed->key)) != keyed->epoch) { // [edge KEY_EPOCH acquire]
    skip(keyed);
    return;
  }
  void (*func)(void *) = keyed->func;
  void *arg = keyed->arg;
  leave(keyed->key, keyed->epoch, false);
  ws_traced_run_as(func, arg);
  func(arg);
}

void ws_keyed_skip(void *keyed)
{
  skip(keyed);
}

int ws_pool_push_keyed(ws_pool_t *pool, ws_keyed_t *task)
{
  if (!pool || !task || !task->key || !task->func)
    return -EINVAL;
  ws_key_t *key = task->key;
  task->pool = pool;
  enter(task);
  const uint64_t epoch = task->epoch;
  const ws_task_t queued = {.func = ws_keyed_run, .arg = task, .group = task->group,
                            .priority = task->priority};
  const int result = ws_pool_push(pool, queued);
  if (result < 0)
    leave(key, epoch, false);
  return result;
}

void ws_pool_cancel(ws_pool_t *pool, ws_key_t *key)
{
  if (!pool || !key)
    return;
  ws_add_acq_rel(epoch_of(key), 1); // [edge KEY_EPOCH acq_rel]
}

/// End the present epoch.
/// @param crowded  out: the next epoch shares its group with tasks of an epoch that is over
/// @return the epoch that is over
static uint64_t end_epoch(ws_key_t *key, bool *crowded)
{
  uint64_t epoch = ws_load_acquire(epoch_of(key)); // [edge KEY_EPOCH acquire]
  do {
    ws_fence_seq_cst(); // [edge KEY_EPOCH fence] the epoch before the count
    *crowded = !ws_group_done(queued_in(key, epoch + 1)); // before the next epoch's tasks are counted there
  } while (!ws_cas_acq_rel(epoch_of(key), &epoch, epoch + 1)); // [edge KEY_EPOCH acq_rel]
  ws_fence_seq_cst(); // [edge KEY_EPOCH fence] the epoch before the count
  return epoch;
}

/// Cancelled tasks that a thread has taken out of its own queue.
typedef struct {
  ws_key_t *key;
  uint64_t epoch; ///< the last that is over
  ws_keyed_t *first; ///< linked by their member pool, which they do not need any more
} cancelled_t;

/// The task may be read: the caller of ws_queue_sift() has taken it.
static bool is_cancelled(const ws_task_t *task, void *cancelled_arg)
{
  cancelled_t *cancelled = cancelled_arg;
  ws_keyed_t *keyed = task->arg;
  if (task->func != ws_keyed_run || keyed->key != cancelled->key
      || (int64_t)(keyed->epoch - cancelled->epoch) > 0)
    return false;
  keyed->pool = (ws_pool_t *)(void *)cancelled->first;
  cancelled->first = keyed;
  return true;
}

/// Skip the tasks that the caller has pushed itself and that no other thread has taken: every worker may be
/// busy until the caller goes on.
static void skip_own(ws_pool_t *pool, ws_key_t *key, uint64_t epoch)
{
  const ws_here_t here = ws_here_known(pool);
  cancelled_t cancelled = {.key = key, .epoch = epoch};
  if (!here.queue || ws_queue_sift(pool, here.queue, is_cancelled, &cancelled) == 0)
    return;
  ws_fill_place(pool, here); // the other tasks could not be seen for a moment
  for (ws_keyed_t *keyed = cancelled.first, *next; keyed; keyed = next) {
    next = (ws_keyed_t *)(void *)keyed->pool;
    keyed->pool = pool;
    const ws_task_t task = {
        .func = ws_keyed_run, .arg = keyed, .group = keyed->group, .priority = keyed->priority};
    ws_run_whole(pool, here.queue, &task);
  }
  ws_note_idle(pool);
}

static void await_epoch(ws_key_t *key, uint64_t epoch)
{
  if (!ws_group_done(queued_in(key, epoch)))
    ws_group_wait(queued_in(key, epoch), NULL);
}

int64_t ws_pool_cancel_wait(ws_pool_t *pool, ws_key_t *key)
{
  if (!pool || !key)
    return -EINVAL;
  if (ws_current_task())
    return -EDEADLK;
  bool crowded;
  const uint64_t epoch = end_epoch(key, &crowded);
  skip_own(pool, key, epoch);
  // tasks of earlier cancels may still be queued, too
  for (uint64_t back = 0; back + 1 < WS_KEY_EPOCHS; back++)
    await_epoch(key, epoch - back);
  if (crowded)
    await_epoch(key, epoch + 1);
  // relaxed: after the waits, which order it
  return (int64_t)count_of(ws_load_relaxed(cancelled_in(key, epoch)), epoch);
}
