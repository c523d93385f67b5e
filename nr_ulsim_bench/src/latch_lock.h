// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_lock.h
/// The reader-writer latch of a block, in two kinds: pthread_rwlock_t, whose waits block the thread, and one
/// on ws_sem_t and ws_mutex_t, whose waits block a thread or a task, and let a fiber yield.
/// Readers that come while a writer holds the latch, or waits for it, wait. In both kinds all readers that
/// wait go ahead when a writer leaves.
#ifndef LATCH_LOCK_H
#define LATCH_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ws_sync.h"

typedef enum { LATCH_PTHREAD, LATCH_OWN } latch_kind_t;

typedef struct {
  latch_kind_t kind;
  pthread_rwlock_t rwlock; ///< LATCH_PTHREAD; the rest: LATCH_OWN
  /// Bit 63 = a writer holds the latch or waits for it; bits 32..62 = readers that wait; bits 0..31 = readers
  /// that hold the latch, or that a writer has let in.
  _Atomic uint64_t word;
  ws_mutex_t writers; ///< of the writer
  ws_sem_t enter; ///< a unit for each reader that is let in
  ws_sem_t drained; ///< a unit when the last reader has left and a writer waits
} latch_t;

void latch_init(latch_t *latch, latch_kind_t kind);
void latch_destroy(latch_t *latch);

/// @return false = a writer holds the latch, or waits for it
bool latch_try_shared(latch_t *latch);
void latch_lock_shared(latch_t *latch);
void latch_unlock_shared(latch_t *latch);

void latch_lock_exclusive(latch_t *latch);
void latch_unlock_exclusive(latch_t *latch);

#endif
