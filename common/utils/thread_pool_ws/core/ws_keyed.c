// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.c
/// ws_key.h. A cancel begins a new epoch of the key; a task whose epoch is over is skipped when its turn
/// comes. The tasks of an epoch are counted in one of WS_KEY_EPOCHS groups.
#include "ws_keyed.h"

#include <errno.h>

#include "../pool/ws_types.h"
#include "../trace/ws_traced.h"

static void count_cancelled(ws_key_t *key, uint64_t epoch)
{
  ws_au64_t *word = ws_key_cancelled(key, epoch);
  uint64_t seen = ws_expected_load(word), next;
  do {
    if ((int32_t)((uint32_t)(seen >> 32) - (uint32_t)epoch) > 0)
      return; // a later epoch has the word
    next = epoch << 32 | (ws_key_count(seen, epoch) + 1);
  } while (!ws_cas_acq_rel(word, &seen, next)); // [edge KEY_EPOCH acq_rel] a count: the completion orders it
}

void ws_key_init(ws_key_t *key)
{
  *key = (ws_key_t){0};
}

/// Count the task in the present epoch. [edge KEY_EPOCH] either the cancel sees it counted, or it sees the
/// cancel and belongs to the epoch after that.
static void count_into_epoch(ws_keyed_t *task)
{
  ws_key_t *key = task->key;
  for (;;) {
    task->epoch = ws_load_acquire(ws_key_epoch(key)); // [edge KEY_EPOCH acquire]
    ws_group_add(ws_key_queued(key, task->epoch), 1);
    ws_fence_seq_cst(); // [edge KEY_EPOCH fence] the count before the epoch
    if (ws_load_relaxed(ws_key_epoch(key)) == task->epoch) // relaxed: after the fence
      return;
    ws_group_complete(ws_key_queued(key, task->epoch), 1);
  }
}

/// The task is not queued any more. The key may be gone afterwards.
static void take_off_epoch(ws_key_t *key, uint64_t epoch, bool skipped)
{
  if (skipped)
    count_cancelled(key, epoch);
  ws_group_complete(ws_key_queued(key, epoch), 1);
}

static void skip(const ws_keyed_t *keyed)
{
  const ws_keyed_t task = *keyed; // on_cancel may free it
  ws_stat_add(&task.pool->cancelled, 1);
  if (task.on_cancel)
    task.on_cancel(task.arg);
  take_off_epoch(task.key, task.epoch, true);
}

void ws_keyed_run(void *keyed_arg)
{
  const ws_keyed_t *keyed = keyed_arg;
  if (ws_load_acquire(ws_key_epoch(keyed->key)) != keyed->epoch) { // [edge KEY_EPOCH acquire]
    skip(keyed);
    return;
  }
  void (*func)(void *) = keyed->func;
  void *arg = keyed->arg;
  take_off_epoch(keyed->key, keyed->epoch, false);
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
  count_into_epoch(task);
  const uint64_t epoch = task->epoch;
  const ws_task_t queued = {
      .func = ws_keyed_run, .arg = task, .group = task->group, .priority = task->priority};
  const int result = ws_pool_push(pool, queued);
  if (result < 0)
    take_off_epoch(key, epoch, false);
  return result;
}

void ws_pool_cancel(ws_pool_t *pool, ws_key_t *key)
{
  if (!pool || !key)
    return;
  ws_add_acq_rel(ws_key_epoch(key), 1); // [edge KEY_EPOCH acq_rel]
}
