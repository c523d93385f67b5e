// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.c
/// ws_keyed.h: the turn of a task with a key.
#include "ws_keyed.h"

#include "../trace/ws_traced.h"

bool ws_key_leave(ws_key_t *key, uint32_t epoch)
{
  ws_au64_t *live = ws_key_word(&key->live);
  for (;;) {
    uint64_t seen = ws_load_acquire(live); // [edge KEY_EPOCH acquire] what the canceller wrote
    if (ws_key_epoch(seen) != epoch)
      return false;
    if (ws_cas_acq_rel(live, &seen, seen - 1)) // [edge KEY_EPOCH acq_rel]
      return true;
  }
}

static void count_cancelled(ws_key_t *key, uint32_t epoch)
{
  ws_au64_t *cancelled = ws_key_cancelled(key, epoch);
  uint64_t seen = ws_expected_load(cancelled), next;
  do {
    if ((int32_t)(ws_key_epoch(seen) - epoch) > 0)
      return; // a later epoch has the word
    next = (uint64_t)epoch << 32 | (ws_key_count(seen, epoch) + 1);
  } while (!ws_cas_acq_rel(cancelled, &seen, next)); // [edge KEY_EPOCH acq_rel] the completion orders it
}

/// The task's turn has come. @return false = it was cancelled before: alone, or with its epoch
static bool starts(ws_keyed_t *task)
{
  uint64_t state = ws_keyed_epoch(task);
  const uint32_t epoch = (uint32_t)state;
  return ws_cas_acq_rel(ws_key_word(&task->state), &state, state | WS_KEYED_TAKEN) // [edge KEY_EPOCH acq_rel]
         && ws_key_leave(task->key, epoch);
}

static void skip(const ws_keyed_t *keyed)
{
  const uint32_t epoch = ws_keyed_epoch(keyed);
  ws_key_t *key = keyed->key; // on_cancel may free the task
  ws_stat_add(&keyed->pool->cancelled, 1);
  if (keyed->on_cancel)
    keyed->on_cancel(keyed->arg);
  count_cancelled(key, epoch);
  ws_group_complete(ws_key_queued(key, epoch), 1);
}

void ws_keyed_run(void *keyed_arg)
{
  ws_keyed_t *keyed = keyed_arg;
  if (!starts(keyed)) {
    skip(keyed);
    return;
  }
  void (*func)(void *) = keyed->func;
  void *arg = keyed->arg;
  ws_group_complete(ws_key_queued(keyed->key, ws_keyed_epoch(keyed)), 1);
  ws_traced_run_as(func, arg);
  func(arg);
}

void ws_keyed_skip(void *keyed_arg)
{
  starts(keyed_arg); // so that a cancel does not count it
  skip(keyed_arg);
}
