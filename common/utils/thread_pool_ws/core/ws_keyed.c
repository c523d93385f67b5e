// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.c
/// ws_key.h. A cancel begins a new epoch of the key; a task whose epoch is over is skipped when its turn
/// comes.
///
/// Live       One word has the epoch and the number of its tasks that have not started. A push, a start and a
///            cancel change both at once. So a cancel returns exactly how many tasks it has cancelled.
/// Queued     The tasks of an epoch are also counted in one of WS_KEY_EPOCHS groups, until they have started
///            or have been skipped. A cancel that waits waits for these groups.
/// One task   Its word has its epoch and one of two bits: TAKEN by the thread that runs or skips it, or
///            CANCELLED alone.
#include "ws_keyed.h"

#include <errno.h>

#include "../pool/ws_types.h"
#include "../trace/ws_traced.h"

#define TAKEN (UINT64_C(1) << 62)
#define CANCELLED (UINT64_C(1) << 63)

static ws_au64_t *state_of(ws_keyed_t *task)
{
  return (ws_au64_t *)(void *)&task->state;
}

static void count_cancelled(ws_key_t *key, uint32_t epoch)
{
  ws_au64_t *word = ws_key_cancelled(key, epoch);
  uint64_t seen = ws_expected_load(word), next;
  do {
    if ((int32_t)((uint32_t)(seen >> 32) - epoch) > 0)
      return; // a later epoch has the word
    next = (uint64_t)epoch << 32 | (ws_key_count(seen, epoch) + 1);
  } while (!ws_cas_acq_rel(word, &seen, next)); // [edge KEY_EPOCH acq_rel] a count: the completion orders it
}

void ws_key_init(ws_key_t *key)
{
  *key = (ws_key_t){0};
}

/// Count the task in the present epoch. [edge KEY_EPOCH] either the cancel sees it counted in both places, or
/// the task belongs to the epoch after that.
static void count_into_epoch(ws_keyed_t *task)
{
  ws_key_t *key = task->key;
  ws_au64_t *live = ws_key_live(key);
  for (;;) {
    uint64_t seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire]
    const uint32_t epoch = ws_key_epoch_of(seen);
    ws_group_add(ws_key_queued(key, epoch), 1);
    while (ws_key_epoch_of(seen) == epoch)
      if (ws_cas_acq_rel(live, &seen, seen + 1)) { // [edge KEY_EPOCH acq_rel]
        ws_init_store(state_of(task), (uint64_t)epoch);
        return;
      }
    ws_group_complete(ws_key_queued(key, epoch), 1);
  }
}

/// The task starts, or is skipped for another reason than a cancel of its key. @return false = such a cancel
/// has come first
static bool leave_live(ws_key_t *key, uint32_t epoch)
{
  ws_au64_t *live = ws_key_live(key);
  for (;;) {
    uint64_t seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire] what the canceller wrote
    if (ws_key_epoch_of(seen) != epoch)
      return false;
    if (ws_cas_acq_rel(live, &seen, seen - 1)) // [edge KEY_EPOCH acq_rel]
      return true;
  }
}

/// @return false = the task was cancelled alone
static bool take(ws_keyed_t *task)
{
  uint64_t state = ws_keyed_epoch(task);
  return ws_cas_acq_rel(state_of(task), &state, state | TAKEN); // [edge KEY_EPOCH acq_rel]
}

/// The task is not queued any more. The key may be gone afterwards.
static void take_off_epoch(ws_key_t *key, uint32_t epoch, bool skipped)
{
  if (skipped)
    count_cancelled(key, epoch);
  ws_group_complete(ws_key_queued(key, epoch), 1);
}

static void skip(const ws_keyed_t *keyed)
{
  const uint32_t epoch = ws_keyed_epoch(keyed);
  ws_key_t *key = keyed->key; // on_cancel may free the task
  ws_stat_add(&keyed->pool->cancelled, 1);
  if (keyed->on_cancel)
    keyed->on_cancel(keyed->arg);
  take_off_epoch(key, epoch, true);
}

void ws_keyed_run(void *keyed_arg)
{
  ws_keyed_t *keyed = keyed_arg;
  const uint32_t epoch = ws_keyed_epoch(keyed);
  if (!take(keyed) || !leave_live(keyed->key, epoch)) {
    skip(keyed);
    return;
  }
  void (*func)(void *) = keyed->func;
  void *arg = keyed->arg;
  take_off_epoch(keyed->key, epoch, false);
  ws_traced_run_as(func, arg);
  func(arg);
}

void ws_keyed_skip(void *keyed_arg)
{
  ws_keyed_t *keyed = keyed_arg;
  if (take(keyed))
    leave_live(keyed->key, ws_keyed_epoch(keyed));
  skip(keyed);
}

int ws_pool_push_keyed(ws_pool_t *pool, ws_keyed_t *task)
{
  if (!pool || !task || !task->key || !task->func)
    return -EINVAL;
  ws_key_t *key = task->key;
  task->pool = pool;
  count_into_epoch(task);
  const uint32_t epoch = ws_keyed_epoch(task); // now: once it is pushed it may be gone
  const ws_task_t queued = {
      .func = ws_keyed_run, .arg = task, .group = task->group, .priority = task->priority};
  const int result = ws_pool_push(pool, queued);
  if (result < 0) {
    leave_live(key, epoch);
    take_off_epoch(key, epoch, false);
  }
  return result;
}

uint64_t ws_key_end_epoch(ws_key_t *key, bool *crowded)
{
  ws_au64_t *live = ws_key_live(key);
  uint64_t seen, next;
  do {
    seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire]
    next = ((uint64_t)ws_key_epoch_of(seen) + 1) << 32;
    // before the next epoch's tasks are counted there
    *crowded = !ws_group_done(ws_key_queued(key, ws_key_epoch_of(next)));
  } while (!ws_cas_acq_rel(live, &seen, next)); // [edge KEY_EPOCH acq_rel]
  return seen;
}

int64_t ws_pool_cancel(ws_pool_t *pool, ws_key_t *key)
{
  bool crowded;
  return pool && key ? (int64_t)(uint32_t)ws_key_end_epoch(key, &crowded) : -EINVAL;
}

int ws_pool_cancel_task(ws_pool_t *pool, ws_keyed_t *task)
{
  if (!pool || !task)
    return -EINVAL;
  ws_key_t *key = task->key;
  uint64_t state = ws_keyed_epoch(task);
  const uint32_t epoch = (uint32_t)state;
  if (!ws_cas_acq_rel(state_of(task), &state, state | CANCELLED)) // [edge KEY_EPOCH acq_rel]
    return state & CANCELLED ? -EALREADY : -EBUSY;
  return leave_live(key, epoch) ? 0 : -EALREADY;
}
