// SPDX-License-Identifier: BSD-3-Clause
/// @file latch.h
/// Counts a burst down and wakes the producer: for pools that have no wait of their own, or one that ends
/// them.
/// Builtins instead of stdatomic.h, because C++ modules include it too.
#ifndef BENCH_LATCH_H
#define BENCH_LATCH_H

#include <errno.h>
#include <semaphore.h>
#include <stdint.h>

typedef struct {
  uint32_t left;
  sem_t done;
} latch_t;

static inline void latch_init(latch_t *latch)
{
  latch->left = 0;
  sem_init(&latch->done, 0, 0);
}

static inline void latch_arm(latch_t *latch, uint32_t count)
{
  __atomic_store_n(&latch->left, count, __ATOMIC_RELAXED); // relaxed: published by the pushes that follow
}

static inline void latch_count_down(latch_t *latch)
{
  if (__atomic_fetch_sub(&latch->left, 1, __ATOMIC_ACQ_REL) == 1)
    sem_post(&latch->done);
}

static inline void latch_wait(latch_t *latch)
{
  while (sem_wait(&latch->done) != 0 && errno == EINTR)
    ;
}

#endif
