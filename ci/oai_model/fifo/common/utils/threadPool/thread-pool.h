// SPDX-License-Identifier: BSD-3-Clause
/// @file thread-pool.h
/// The model's own pool in the FIFO shape: one queue with a lock, from which all threads take.
#ifndef THREAD_POOL_H
#define THREAD_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "assertions.h"
#include "common/utils/system.h"
#include "common/utils/time_meas.h"
#include "model/fifo.h"

#define MODEL_OWN_POOL 1

typedef struct {
  bool activated;
  int nbThreads;
  pthread_t *threads;
  notifiedFIFO_t incomingFifo;
} tpool_t;

#ifdef __cplusplus
extern "C" {
#endif
void model_run(notifiedFIFO_elt_t *elt);
int abortTpool(tpool_t *pool);
void initNamedTpool(char *params, tpool_t *pool, bool performanceMeas, char *name);
void initFloatingCoresTpool(int nbThreads, tpool_t *pool, bool performanceMeas, char *name);
#ifdef __cplusplus
}
#endif

#define initTpool(PARAMPTR, TPOOLPTR, MEASURFLAG) initNamedTpool(PARAMPTR, TPOOLPTR, MEASURFLAG, NULL)

static inline void pushTpool(tpool_t *pool, notifiedFIFO_elt_t *elt)
{
  if (pool->activated)
    pushNotifiedFIFO(&pool->incomingFifo, elt);
  else
    model_run(elt);
}

static inline notifiedFIFO_elt_t *pullTpool(notifiedFIFO_t *done, tpool_t *pool)
{
  (void)pool;
  return pullNotifiedFIFO(done);
}

static inline notifiedFIFO_elt_t *tryPullTpool(notifiedFIFO_t *done, tpool_t *pool)
{
  (void)pool;
  return pollNotifiedFIFO(done);
}

#endif
