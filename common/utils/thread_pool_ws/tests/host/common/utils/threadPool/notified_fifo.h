// SPDX-License-Identifier: BSD-3-Clause
/// @file notified_fifo.h
/// Stand-in for the host's message queue, which pools of the task shape leave to the host. It has the
/// interface and the meaning; the elements have the host's members because others read some of them.
#ifndef NOTIFIED_FIFO_H
#define NOTIFIED_FIFO_H

#include <malloc.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "assertions.h"
#include "pthread_utils.h"
#include "time_meas.h"

struct notifiedFIFO_s;

typedef struct notifiedFIFO_elt_s {
  struct notifiedFIFO_elt_s *next;
  uint64_t key;
  struct notifiedFIFO_s *reponseFifo;
  void (*processingFunc)(void *);
  bool malloced; ///< delNotifiedFIFO_elt() gives it back to the heap
  oai_cputime_t creationTime;
  oai_cputime_t startProcessingTime;
  oai_cputime_t endProcessingTime;
  oai_cputime_t returnTime;
  alignas(32) void *msgData; ///< last: the payload of a heap element follows, aligned as well
} notifiedFIFO_elt_t;

typedef struct notifiedFIFO_s {
  notifiedFIFO_elt_t *outF; ///< oldest
  notifiedFIFO_elt_t *inF; ///< newest
  pthread_mutex_t lockF;
  pthread_cond_t notifF;
  bool abortFIFO;
} notifiedFIFO_t;

static inline notifiedFIFO_elt_t *newNotifiedFIFO_elt(int size, uint64_t key, notifiedFIFO_t *reponseFifo,
                                                      void (*processingFunc)(void *))
{
  void *memory = memalign(32, sizeof(notifiedFIFO_elt_t) + (size_t)size);
  AssertFatal(memory != NULL, "no memory for an element");
  memset(memory, 0, sizeof(notifiedFIFO_elt_t));
  notifiedFIFO_elt_t *elt = (notifiedFIFO_elt_t *)memory;
  elt->key = key;
  elt->reponseFifo = reponseFifo;
  elt->processingFunc = processingFunc;
  elt->malloced = true;
  elt->msgData = elt + 1;
  return elt;
}

static inline void *NotifiedFifoData(notifiedFIFO_elt_t *elt)
{
  return elt->msgData;
}

static inline void delNotifiedFIFO_elt(notifiedFIFO_elt_t *elt)
{
  const bool from_heap = elt->malloced;
  elt->malloced = false;
  if (from_heap)
    free(elt);
}

static inline void initNotifiedFIFO_nothreadSafe(notifiedFIFO_t *nf)
{
  nf->outF = nf->inF = NULL;
  nf->abortFIFO = false;
}

static inline void initNotifiedFIFO(notifiedFIFO_t *nf)
{
  initNotifiedFIFO_nothreadSafe(nf);
  mutexinit(nf->lockF);
  condinit(nf->notifF);
}

static inline void pushNotifiedFIFO_nothreadSafe(notifiedFIFO_t *nf, notifiedFIFO_elt_t *msg)
{
  msg->next = NULL;
  *(nf->outF ? &nf->inF->next : &nf->outF) = msg;
  nf->inF = msg;
}

static inline notifiedFIFO_elt_t *pullNotifiedFIFO_nothreadSafe(notifiedFIFO_t *nf)
{
  notifiedFIFO_elt_t *oldest = nf->abortFIFO ? NULL : nf->outF;
  if (oldest) {
    AssertFatal(oldest->next != oldest, "element %" PRIu64 " was pushed twice", oldest->key);
    nf->outF = oldest->next;
    if (!nf->outF)
      nf->inF = NULL;
  }
  return oldest;
}

static inline void pushNotifiedFIFO(notifiedFIFO_t *nf, notifiedFIFO_elt_t *msg)
{
  mutexlock(nf->lockF);
  if (!nf->abortFIFO) {
    pushNotifiedFIFO_nothreadSafe(nf, msg);
    condsignal(nf->notifF); // under the lock: the queue may be gone as soon as a puller has it
  }
  mutexunlock(nf->lockF);
}

static inline notifiedFIFO_elt_t *pullNotifiedFIFO(notifiedFIFO_t *nf)
{
  mutexlock(nf->lockF);
  while (!nf->outF && !nf->abortFIFO)
    condwait(nf->notifF, nf->lockF);
  notifiedFIFO_elt_t *elt = pullNotifiedFIFO_nothreadSafe(nf);
  mutexunlock(nf->lockF);
  return elt;
}

static inline notifiedFIFO_elt_t *pollNotifiedFIFO(notifiedFIFO_t *nf)
{
  if (mutextrylock(nf->lockF) != 0)
    return NULL;
  notifiedFIFO_elt_t *elt = pullNotifiedFIFO_nothreadSafe(nf);
  mutexunlock(nf->lockF);
  return elt;
}

static inline void abortNotifiedFIFO(notifiedFIFO_t *nf)
{
  mutexlock(nf->lockF);
  for (notifiedFIFO_elt_t *next, *elt = nf->outF; elt; elt = next) {
    next = elt->next;
    delNotifiedFIFO_elt(elt);
  }
  nf->outF = nf->inF = NULL;
  nf->abortFIFO = true;
  condbroadcast(nf->notifF);
  mutexunlock(nf->lockF);
}

static inline time_stats_t exec_time_stats_NotifiedFIFO(const notifiedFIFO_elt_t *elt)
{
  time_stats_t stats;
  memset(&stats, 0, sizeof(stats));
  if (elt->startProcessingTime || elt->endProcessingTime) {
    stats.in = elt->startProcessingTime;
    stats.diff = stats.p_time = stats.max = elt->endProcessingTime - elt->startProcessingTime;
    stats.diff_square = (double)stats.diff * (double)stats.diff;
    stats.trials = 1;
  }
  return stats;
}

#endif
