// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_keyed.h
/// Tasks with a key (ws_key.h), as ws_run.c sees them.
#ifndef WS_KEYED_H
#define WS_KEYED_H

#include "../include/ws_key.h"
#include "../pool/ws_types.h"

/// The function of each task with a key.
void ws_keyed_run(void *keyed);

/// The function that an abort calls in its place: count, and call on_cancel.
void ws_keyed_skip(void *keyed);

// The words of a key are plain in C++, so the atomic types are laid over them.

/// Of the key's word: the present epoch, and its tasks that a cancel would skip.
static inline uint32_t ws_key_epoch_of(uint64_t live)
{
  return (uint32_t)(live >> 32);
}

static inline ws_au64_t *ws_key_live(ws_key_t *key)
{
  return (ws_au64_t *)(void *)&key->live;
}

/// @return the epoch in which the task was pushed
static inline uint32_t ws_keyed_epoch(const ws_keyed_t *task)
{
  return (uint32_t)ws_load_relaxed((ws_au64_t *)(void *)(uintptr_t)&task->state); // relaxed: set by the push
}

/// @brief End the present epoch.
/// @param crowded  out: the next epoch shares its group with tasks of an epoch that is over
/// @return the word of the epoch that is over
uint64_t ws_key_end_epoch(ws_key_t *key, bool *crowded);

static inline ws_au64_t *ws_key_cancelled(ws_key_t *key, uint32_t epoch)
{
  return (ws_au64_t *)(void *)&key->cancelled[epoch % WS_KEY_EPOCHS];
}

static inline ws_group_t *ws_key_queued(ws_key_t *key, uint32_t epoch)
{
  return &key->queued[epoch % WS_KEY_EPOCHS];
}

/// A word counts the skipped tasks of one epoch; an earlier epoch's count is void.
static inline uint64_t ws_key_count(uint64_t word, uint32_t epoch)
{
  return word >> 32 == epoch ? (uint32_t)word : 0;
}

#endif
