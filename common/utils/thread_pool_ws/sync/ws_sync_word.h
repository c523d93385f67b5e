// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sync_word.h
/// What the files of this room share.
#ifndef WS_SYNC_WORD_H
#define WS_SYNC_WORD_H

#include "../base/ws_atomic.h" // IWYU pragma: export
#include "../base/ws_base.h" // IWYU pragma: export
#include "../include/ws_sync.h" // IWYU pragma: export

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

/// @brief Note that @p count waits move to the mutex. The caller holds the lock of its bucket.
/// @return whether the mutex was free, and belongs to the first of them
bool ws_mutex_grant(ws_mutex_t *mutex, uint32_t count);

#endif
