// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_key.c
/// ws_key.h: tasks with a key. A cancel begins a new epoch of the key; a task whose epoch is over is skipped
/// when its turn comes.
///
/// Live       One word has the epoch and the number of its tasks that have not started. A push, a start and a
///            cancel change both at once. So a cancel returns exactly how many tasks it has cancelled.
/// Queued     The tasks of an epoch are also counted in one of WS_KEY_EPOCHS groups, until they have started
///            or have been skipped. A cancel that waits waits for these groups.
/// One task   Its word has its epoch and one of two bits: TAKEN by the thread that runs or skips it, or
///            CANCELLED alone.
#include "../include/ws_key.h"

#include "../core/ws_escape.h"
#include "../core/ws_run.h"
#include "../pool/ws_block.h"
#include "../pool/ws_lane.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_skip.h"

#define TAKEN (UINT64_C(1) << 62)
#define CANCELLED (UINT64_C(1) << 63)

/// A word of a key or of a task: plain in C++, so the atomic type is laid over it.
static ws_au64_t *word_at(const uint64_t *plain)
{
  return (ws_au64_t *)(void *)(uintptr_t)plain;
}

/// @return the epoch in the high half of a word: of key->live the present one, whose tasks that a cancel
/// would skip are counted in the low half; of key->cancelled[] the one whose skipped tasks are counted there
static uint32_t epoch_in(uint64_t live)
{
  return (uint32_t)(live >> 32);
}

/// @return the epoch in which the task was pushed
static uint32_t epoch_of(const ws_keyed_t *task)
{
  return (uint32_t)ws_load_relaxed(word_at(&task->state)); // relaxed: set by the push
}

/// The group of the tasks of an epoch that are queued. After its last completion the key may be gone.
static ws_group_t *queued_in(ws_key_t *key, uint32_t epoch)
{
  return &key->queued[epoch % WS_KEY_EPOCHS];
}

/// @param cancelled  a word of key->cancelled: it counts the skipped tasks of one epoch
/// @return the count of @p epoch; 0 = the word counts another one's
static uint64_t count_in(uint64_t cancelled, uint32_t epoch)
{
  return epoch_in(cancelled) == epoch ? (uint32_t)cancelled : 0;
}

// A task's turn.

/// Take a task off the present epoch's count: it starts, was cancelled alone, is skipped by an abort, or its
/// push was refused. @return false = a cancel of its key has come first, and has counted it
static bool leave(ws_key_t *key, uint32_t epoch)
{
  ws_au64_t *live = word_at(&key->live);
  for (;;) {
    uint64_t seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire] what the canceller wrote
    if (epoch_in(seen) != epoch)
      return false;
    if (ws_cas_acq_rel(live, &seen, seen - 1)) // [edge KEY_EPOCH acq_rel]
      return true;
  }
}

/// Count a task of that epoch as skipped, for ws_pool_cancel_wait().
static void count_cancelled(ws_key_t *key, uint32_t epoch)
{
  ws_au64_t *cancelled = word_at(&key->cancelled[epoch % WS_KEY_EPOCHS]);
  uint64_t seen = ws_expected_load(cancelled), next;
  do {
    if ((int32_t)(epoch_in(seen) - epoch) > 0)
      return; // a later epoch has the word
    next = (uint64_t)epoch << 32 | (count_in(seen, epoch) + 1);
  } while (!ws_cas_acq_rel(cancelled, &seen, next)); // [edge KEY_EPOCH acq_rel] the completion orders it
}

/// The task's turn has come. @return false = it was cancelled before: alone, or with its epoch
static bool starts(ws_keyed_t *task)
{
  uint64_t state = epoch_of(task);
  const uint32_t epoch = (uint32_t)state;
  return ws_cas_acq_rel(word_at(&task->state), &state, state | TAKEN) // [edge KEY_EPOCH acq_rel]
         && leave(task->key, epoch);
}

/// Skip a task, which starts() has not let start or has marked: on_cancel in its place, then the counts.
static void skip_keyed(const ws_keyed_t *keyed)
{
  const uint32_t epoch = epoch_of(keyed);
  ws_key_t *key = keyed->key; // on_cancel may free the task
  ws_stat_add(&keyed->pool->cancelled, 1);
  if (keyed->on_cancel)
    keyed->on_cancel(keyed->arg);
  count_cancelled(key, epoch);
  ws_group_complete(queued_in(key, epoch), 1);
}

/// The function of each task with a key.
static void run_keyed(void *keyed_arg)
{
  ws_keyed_t *keyed = keyed_arg;
  if (!starts(keyed)) {
    skip_keyed(keyed);
    return;
  }
  void (*func)(void *) = keyed->func;
  void *arg = keyed->arg;
  ws_group_complete(queued_in(keyed->key, epoch_of(keyed)), 1);
  ws_traced_run_as(func, arg);
  func(arg);
}

/// An abort skips the task.
static void skip_aborted(void *keyed_arg)
{
  starts(keyed_arg); // so that a cancel does not count it
  skip_keyed(keyed_arg);
}

const ws_skip_t ws_skips = {
    .func = run_keyed, .skip = skip_aborted, .as_task = true, .next = &ws_skips_of_blocks};

// Pushes and cancels.

void ws_key_init(ws_key_t *key)
{
  *key = (ws_key_t){0};
}

/// Count the task in the present epoch, and note that epoch in it. [edge KEY_EPOCH] either the cancel sees it
/// counted in both places, or the task belongs to the epoch after that.
static void count_into_epoch(ws_keyed_t *task)
{
  ws_key_t *key = task->key;
  ws_au64_t *live = word_at(&key->live);
  for (;;) {
    uint64_t seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire]
    const uint32_t epoch = epoch_in(seen);
    ws_group_add(queued_in(key, epoch), 1);
    while (epoch_in(seen) == epoch)
      if (ws_cas_acq_rel(live, &seen, seen + 1)) { // [edge KEY_EPOCH acq_rel]
        ws_init_store(word_at(&task->state), (uint64_t)epoch);
        return;
      }
    ws_group_complete(queued_in(key, epoch), 1);
  }
}

static ws_task_t task_of(ws_keyed_t *keyed)
{
  return (ws_task_t){.func = run_keyed, .arg = keyed, .group = keyed->group, .priority = keyed->priority};
}

int ws_pool_push_keyed(ws_pool_t *pool, ws_keyed_t *task)
{
  if (!pool || !task || !task->key || !task->func)
    return -EINVAL;
  ws_key_t *key = task->key;
  task->pool = pool;
  count_into_epoch(task);
  const uint32_t epoch = epoch_of(task); // now: once it is pushed it may be gone
  const int result = ws_pool_push(pool, task_of(task));
  if (result < 0) {
    leave(key, epoch);
    ws_group_complete(queued_in(key, epoch), 1);
  }
  return result;
}

/// End the present epoch.
/// @param crowded  out: the next epoch shares its group with tasks of an epoch that is over
/// @return the word of the epoch that is over
static uint64_t end_epoch(ws_key_t *key, bool *crowded)
{
  ws_au64_t *live = word_at(&key->live);
  uint64_t seen, next;
  do {
    seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire]
    next = ((uint64_t)epoch_in(seen) + 1) << 32;
    // before the next epoch's tasks are counted there
    *crowded = !ws_group_done(queued_in(key, epoch_in(next)));
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
  uint64_t state = epoch_of(task);
  const uint32_t epoch = (uint32_t)state;
  // [edge KEY_EPOCH acq_rel]
  if (!ws_cas_acq_rel(word_at(&task->state), &state, state | CANCELLED))
    return state & CANCELLED ? -EALREADY : -EBUSY;
  return leave(key, epoch) ? 0 : -EALREADY;
}

// A cancel that waits: for the groups of all epochs that are over.

/// Cancelled tasks that a thread has taken out of queues.
typedef struct {
  ws_key_t *key;
  uint32_t epoch; ///< the last that is over
  ws_keyed_t *first; ///< linked by their member pool, which they do not need any more
} cancelled_t;

/// @return whether the task is one of those cancelled: then it is put into the list. The task may be read:
/// the caller has taken it, or holds the lock of its queue.
static bool is_cancelled(const ws_task_t *task, uint64_t index, void *cancelled_arg)
{
  (void)index;
  cancelled_t *cancelled = cancelled_arg;
  ws_keyed_t *keyed = task->arg;
  if (task->func != run_keyed || keyed->key != cancelled->key
      || (int32_t)(epoch_of(keyed) - cancelled->epoch) > 0)
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
  ws_fill_slot(pool, here); // the other tasks could not be seen for a moment
  struct ws_pool_s *const ran_in = ws_self()->runs_in;
  ws_self()->runs_in = pool;
  const int cancel = ws_cancel_disable(); // what is left of the list would be lost
  for (ws_keyed_t *keyed = cancelled.first, *next; keyed; keyed = next) {
    next = (ws_keyed_t *)(void *)keyed->pool;
    keyed->pool = pool;
    const ws_task_t task = task_of(keyed);
    ws_run_whole(pool, here, &task);
  }
  ws_cancel_restore(cancel);
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
  const uint32_t epoch = epoch_in(end_epoch(key, &crowded));
  skip_queued(pool, key, epoch);
  // tasks of earlier cancels may still be queued, too
  for (uint32_t i = crowded ? 0 : 1; i < WS_KEY_EPOCHS; i++) {
    ws_group_t *queued = queued_in(key, epoch + 1 - i);
    if (!ws_group_done(queued)) // else a trace would show a join for each
      ws_group_wait(queued, NULL);
  }
  // relaxed: after the waits, which order it
  return (int64_t)count_in(ws_load_relaxed(word_at(&key->cancelled[epoch % WS_KEY_EPOCHS])), epoch);
}
