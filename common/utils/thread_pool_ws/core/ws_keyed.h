// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.h
/// A task with a key (ws_key.h): the words that a push, a start and a cancel change, and the task's turn. A
/// cancel begins a new epoch of the key; a task whose epoch is over is skipped when its turn comes.
///
/// Live       One word has the epoch and the number of its tasks that have not started. A push, a start and a
///            cancel change both at once. So a cancel returns exactly how many tasks it has cancelled.
/// Queued     The tasks of an epoch are also counted in one of WS_KEY_EPOCHS groups, until they have started
///            or have been skipped. A cancel that waits waits for these groups.
/// One task   Its word has its epoch and one of two bits: TAKEN by the thread that runs or skips it, or
///            CANCELLED alone.
#ifndef WS_KEYED_H
#define WS_KEYED_H

#include "../include/ws_key.h"
#include "../pool/ws_types.h"

#define WS_KEYED_TAKEN (UINT64_C(1) << 62)
#define WS_KEYED_CANCELLED (UINT64_C(1) << 63)

/// A word of a key or of a task: plain in C++, so the atomic type is laid over it.
static inline ws_au64_t *ws_key_word(const uint64_t *plain)
{
  return (ws_au64_t *)(void *)(uintptr_t)plain;
}

/// Of the key's word: the present epoch, and its tasks that a cancel would skip.
static inline uint32_t ws_key_epoch(uint64_t live)
{
  return (uint32_t)(live >> 32);
}

/// @return the epoch in which the task was pushed
static inline uint32_t ws_keyed_epoch(const ws_keyed_t *task)
{
  return (uint32_t)ws_load_relaxed(ws_key_word(&task->state)); // relaxed: set by the push
}

/// The group of the tasks of an epoch that are queued. After its last completion the key may be gone.
static inline ws_group_t *ws_key_queued(ws_key_t *key, uint32_t epoch)
{
  return &key->queued[epoch % WS_KEY_EPOCHS];
}

static inline ws_au64_t *ws_key_cancelled(ws_key_t *key, uint32_t epoch)
{
  return ws_key_word(&key->cancelled[epoch % WS_KEY_EPOCHS]);
}

/// A word counts the skipped tasks of one epoch; an earlier epoch's count is void.
static inline uint64_t ws_key_count(uint64_t cancelled, uint32_t epoch)
{
  return ws_key_epoch(cancelled) == epoch ? (uint32_t)cancelled : 0;
}

/// The task starts, or is skipped for another reason than a cancel of its key. @return false = such a cancel
/// has come first
bool ws_key_leave(ws_key_t *key, uint32_t epoch);

/// The function of each task with a key.
void ws_keyed_run(void *keyed);

/// The function that an abort calls in its place: count, and call on_cancel.
void ws_keyed_skip(void *keyed);

#endif
