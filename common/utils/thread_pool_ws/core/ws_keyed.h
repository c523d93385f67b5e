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

/// The words of a key are plain in C++, so the atomic types are laid over them.
static inline ws_au64_t *ws_key_epoch(ws_key_t *key)
{
  return (ws_au64_t *)(void *)&key->epoch;
}

static inline ws_au64_t *ws_key_cancelled(ws_key_t *key, uint64_t epoch)
{
  return (ws_au64_t *)(void *)&key->cancelled[epoch % WS_KEY_EPOCHS];
}

static inline ws_group_t *ws_key_queued(ws_key_t *key, uint64_t epoch)
{
  return &key->queued[epoch % WS_KEY_EPOCHS];
}

/// A word counts the skipped tasks of one epoch; an earlier epoch's count is void.
static inline uint64_t ws_key_count(uint64_t word, uint64_t epoch)
{
  return word >> 32 == (uint32_t)epoch ? (uint32_t)word : 0;
}

#endif
