// SPDX-License-Identifier: BSD-3-Clause
#include "latch_lock.h"

#define WRITER (UINT64_C(1) << 63)
#define ONE_WAITS (UINT64_C(1) << 32)
#define ONE_IN UINT64_C(1)
#define IN_MASK (ONE_WAITS - 1)

void latch_init(latch_t *latch, latch_kind_t kind)
{
  *latch = (latch_t){.kind = kind};
  pthread_rwlockattr_t attributes;
  pthread_rwlockattr_init(&attributes);
  // The default kind lets readers pass a writer that waits, without end
  pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
  pthread_rwlock_init(&latch->rwlock, &attributes);
  pthread_rwlockattr_destroy(&attributes);
}

void latch_destroy(latch_t *latch)
{
  pthread_rwlock_destroy(&latch->rwlock);
}

bool latch_try_shared(latch_t *latch)
{
  if (latch->kind == LATCH_PTHREAD)
    return pthread_rwlock_tryrdlock(&latch->rwlock) == 0;
  uint64_t seen = atomic_load_explicit(&latch->word, memory_order_relaxed);
  while (!(seen & WRITER))
    if (atomic_compare_exchange_weak_explicit(&latch->word, &seen, seen + ONE_IN, memory_order_acquire,
                                              memory_order_relaxed))
      return true;
  return false;
}

void latch_lock_shared(latch_t *latch)
{
  if (latch->kind == LATCH_PTHREAD) {
    pthread_rwlock_rdlock(&latch->rwlock);
    return;
  }
  uint64_t seen = atomic_load_explicit(&latch->word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&latch->word, &seen,
                                                seen + (seen & WRITER ? ONE_WAITS : ONE_IN),
                                                memory_order_acquire, memory_order_relaxed))
    ;
  // Another reader may take the unit that was meant for this one. Then this one takes the next: as many
  // readers are in as the word counts.
  if (seen & WRITER)
    ws_sem_wait(&latch->enter);
}

void latch_unlock_shared(latch_t *latch)
{
  if (latch->kind == LATCH_PTHREAD) {
    pthread_rwlock_unlock(&latch->rwlock);
    return;
  }
  const uint64_t seen = atomic_fetch_sub_explicit(&latch->word, ONE_IN, memory_order_acq_rel);
  if (seen & WRITER && (seen & IN_MASK) == 1)
    ws_sem_post(&latch->drained, 1);
}

void latch_lock_exclusive(latch_t *latch)
{
  if (latch->kind == LATCH_PTHREAD) {
    pthread_rwlock_wrlock(&latch->rwlock);
    return;
  }
  ws_mutex_lock(&latch->writers);
  if (atomic_fetch_or_explicit(&latch->word, WRITER, memory_order_acq_rel) & IN_MASK)
    ws_sem_wait(&latch->drained);
}

void latch_unlock_exclusive(latch_t *latch)
{
  if (latch->kind == LATCH_PTHREAD) {
    pthread_rwlock_unlock(&latch->rwlock);
    return;
  }
  uint64_t seen = atomic_load_explicit(&latch->word, memory_order_relaxed);
  while (!atomic_compare_exchange_weak_explicit(&latch->word, &seen, (seen & ~WRITER) / ONE_WAITS,
                                                memory_order_acq_rel, memory_order_relaxed))
    ;
  const uint32_t waited = (uint32_t)((seen & ~WRITER) / ONE_WAITS);
  if (waited > 0)
    ws_sem_post(&latch->enter, waited);
  ws_mutex_unlock(&latch->writers);
}
