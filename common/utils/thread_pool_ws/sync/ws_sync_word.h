// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sync_word.h
/// What the files of this room share.
#ifndef WS_SYNC_WORD_H
#define WS_SYNC_WORD_H

#include "../base/ws_atomic.h"
#include "../base/ws_base.h"
#include "../include/ws_sync.h"

/// The words of locks are plain in C++, so the atomic types are laid over them.
static inline ws_au32_t *ws_sync_word(const uint32_t *word)
{
  return (ws_au32_t *)(uintptr_t)word;
}

static inline ws_au64_t *ws_sync_word64(const uint64_t *word)
{
  return (ws_au64_t *)(uintptr_t)word;
}

/// @param pointer  address of a pointer to any object
static inline ws_aptr_t *ws_sync_pointer(const void *pointer)
{
  return (ws_aptr_t *)(uintptr_t)pointer;
}

/// @brief Have the @p count oldest waits at address @p from wait for the mutex, or give it to the first.
void ws_mutex_take_waits(ws_mutex_t *mutex, const void *from, uint32_t count);

#endif
