// SPDX-License-Identifier: BSD-3-Clause
/// @file thread-pool.h
/// OAI's FIFO pool (shape A: v2.0.0, v2.1.0, v2.2.0) on the work-stealing pool. Found before OAI's own header
/// of this path; has the same include guard, and includes the headers that callers expect. Semantics:
/// shim/README.md.
/// The FIFOs are independent queues: modules that are loaded later use them without a pool, so their
/// functions are inline and do not call the pool's library.
///
/// An element's way:  new -> pushTpool -> its job runs -> response FIFO -> pull -> del, or pushed again
///                                                     -> no response FIFO: deleted
#ifndef THREAD_POOL_H
#define THREAD_POOL_H

#include <malloc.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "assertions.h"
#include "common/utils/system.h"
#include "common/utils/time_meas.h"

#ifdef DEBUG
#define THREADINIT PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#else
#define THREADINIT PTHREAD_MUTEX_INITIALIZER
#endif

// A call that cannot fail unless its object is broken. The arguments are objects, not pointers.
#define WS_FIFO_CHECK(call)                                                                                  \
  {                                                                                                          \
    const int ws_error = (call);                                                                             \
    AssertFatal(ws_error == 0, "%s: error %d\n", #call, ws_error);                                           \
  }
#define mutexinit(mutex) WS_FIFO_CHECK(pthread_mutex_init(&(mutex), NULL))
#define mutexlock(mutex) WS_FIFO_CHECK(pthread_mutex_lock(&(mutex)))
#define mutextrylock(mutex) pthread_mutex_trylock(&(mutex))
#define mutexunlock(mutex) WS_FIFO_CHECK(pthread_mutex_unlock(&(mutex)))
#define condinit(cond) WS_FIFO_CHECK(pthread_cond_init(&(cond), NULL))
#define condwait(cond, mutex) WS_FIFO_CHECK(pthread_cond_wait(&(cond), &(mutex)))
#define condsignal(cond) WS_FIFO_CHECK(pthread_cond_signal(&(cond)))
#define condbroadcast(cond) WS_FIFO_CHECK(pthread_cond_broadcast(&(cond)))

/// Same layout as OAI's: its measurement_display reads elements as raw memory.
typedef struct notifiedFIFO_elt_s {
  struct notifiedFIFO_elt_s *next; ///< while it is queued
  uint64_t key; ///< the caller's
  struct notifiedFIFO_s *reponseFifo; ///< where the result goes, NULL = nowhere
  void (*processingFunc)(void *);
  bool malloced; ///< delNotifiedFIFO_elt frees it
  oai_cputime_t creationTime; ///< stamps: only of a pool that measures
  oai_cputime_t startProcessingTime;
  oai_cputime_t endProcessingTime;
  oai_cputime_t returnTime;
  alignas(32) void *msgData; ///< last: the payload follows it, aligned for SIMD
} notifiedFIFO_elt_t;

/// May live on a stack, and die right after the last element was pulled.
typedef struct notifiedFIFO_s {
  notifiedFIFO_elt_t *outF; ///< oldest. Written under the lock; pulls look at it without
  notifiedFIFO_elt_t *inF; ///< newest
  pthread_mutex_t lockF;
  pthread_cond_t notifF;
  bool abortFIFO; ///< once set, pulls return NULL and pushes do nothing. As outF
} notifiedFIFO_t;

struct ws_tpool_s;

/// A handle.
typedef struct thread_pool {
  struct ws_tpool_s *ws;
  int nbThreads;
} tpool_t;

#define tpool_nbthreads(tpool) ((tpool).nbThreads)

#ifdef __cplusplus
extern "C" {
#endif

/// @brief Queue an element's job; without threads, or after an abort, run it now. Never blocks, unlimited.
/// The element is the pool's until it is pulled from its response FIFO. Any thread, jobs included.
void pushTpool(tpool_t *t, notifiedFIFO_elt_t *msg);

/// @brief Wait for the next result in @p responseFifo, from any thread. Meanwhile run jobs that the calling
/// thread has pushed with this response FIFO.
/// @return NULL when the FIFO was aborted
notifiedFIFO_elt_t *pullTpool(notifiedFIFO_t *responseFifo, tpool_t *t);

/// @brief The same without waiting. @return NULL when there is none
notifiedFIFO_elt_t *tryPullTpool(notifiedFIFO_t *responseFifo, tpool_t *t);

/// @brief Delete what is queued without running it, and the results of what runs. Does not wait for that:
/// a job may wait for a FIFO that is aborted only later. Pushes run inline from now on.
/// @return number of threads + elements deleted, approximately
int abortTpool(tpool_t *t);

/// @brief Start the threads that @p params names: comma-separated cores, -1 = float; with an entry n none.
/// @param pool             need not be initialised
/// @param performanceMeas  stamp elements; also set by OAI_THREADPOOLMEASUREMENTS=<named pipe>, which gets
///                         every element that is pulled
/// @param name             of the threads, NULL = "Tpool"
void initNamedTpool(char *params, tpool_t *pool, bool performanceMeas, char *name);

/// @brief Start @p nbThreads threads that float; 0 = jobs run in the push.
void initFloatingCoresTpool(int nbThreads, tpool_t *pool, bool performanceMeas, char *name);

/// While a worker waits in a FIFO, another worker may run in its place. Weak: absent in a process without the
/// pool.
__attribute__((weak)) void ws_blocking_begin(void);
__attribute__((weak)) void ws_blocking_end(void);

#ifdef __cplusplus
}
#endif

#define initTpool(PARAMPTR, TPOOLPTR, MEASURFLAG) initNamedTpool(PARAMPTR, TPOOLPTR, MEASURFLAG, NULL)

/// @brief Allocate an element with @p size bytes of payload behind it.
static inline notifiedFIFO_elt_t *newNotifiedFIFO_elt(int size, uint64_t key, notifiedFIFO_t *reponseFifo,
                                                      void (*processingFunc)(void *))
{
  const size_t bytes = sizeof(notifiedFIFO_elt_t) + (size > 0 ? (size_t)size : 0);
  notifiedFIFO_elt_t *elt = (notifiedFIFO_elt_t *)memalign(alignof(notifiedFIFO_elt_t), bytes);
  AssertFatal(elt != NULL, "no memory for a FIFO element of %d bytes\n", size);
  elt->next = NULL;
  elt->key = key;
  elt->reponseFifo = reponseFifo;
  elt->processingFunc = processingFunc;
  elt->malloced = true;
  elt->creationTime = elt->startProcessingTime = elt->endProcessingTime = elt->returnTime = 0;
  elt->msgData = elt + 1;
  return elt;
}

/// @return the payload
static inline void *NotifiedFifoData(notifiedFIFO_elt_t *elt)
{
  return elt->msgData;
}

/// @brief Free an element that newNotifiedFIFO_elt made; leave the caller's own memory alone.
static inline void delNotifiedFIFO_elt(notifiedFIFO_elt_t *elt)
{
  if (!elt->malloced)
    return;
  elt->malloced = false;
  free(elt);
}

static inline void initNotifiedFIFO_nothreadSafe(notifiedFIFO_t *nf)
{
  nf->outF = nf->inF = NULL;
  nf->abortFIFO = false;
}

/// @brief Make @p nf ready for use. There is no function to undo this.
static inline void initNotifiedFIFO(notifiedFIFO_t *nf)
{
  mutexinit(nf->lockF);
  condinit(nf->notifF);
  initNotifiedFIFO_nothreadSafe(nf);
}

static inline void pushNotifiedFIFO_nothreadSafe(notifiedFIFO_t *nf, notifiedFIFO_elt_t *msg)
{
  msg->next = NULL;
  if (nf->outF)
    nf->inF->next = msg;
  else
    __atomic_store_n(&nf->outF, msg, __ATOMIC_RELAXED); // relaxed: the lock publishes it
  nf->inF = msg;
}

static inline notifiedFIFO_elt_t *pullNotifiedFIFO_nothreadSafe(notifiedFIFO_t *nf)
{
  notifiedFIFO_elt_t *first = nf->outF;
  if (!first || nf->abortFIFO)
    return NULL;
  AssertFatal(first->next != first, "a FIFO element was pushed while it was queued\n");
  __atomic_store_n(&nf->outF, first->next, __ATOMIC_RELAXED); // relaxed: a hint outside the lock
  if (!first->next)
    nf->inF = NULL;
  return first;
}

/// @brief Append, and wake one thread that waits. All steps are under the lock: once another thread can take
/// it, the FIFO may be gone. An aborted FIFO refuses elements.
static inline void pushNotifiedFIFO(notifiedFIFO_t *nf, notifiedFIFO_elt_t *msg)
{
  mutexlock(nf->lockF);
  if (!nf->abortFIFO) {
    pushNotifiedFIFO_nothreadSafe(nf, msg);
    condsignal(nf->notifF);
  }
  mutexunlock(nf->lockF);
}

/// @brief Wait for the oldest element. @return NULL when the FIFO was aborted
static inline notifiedFIFO_elt_t *pullNotifiedFIFO(notifiedFIFO_t *nf)
{
  mutexlock(nf->lockF);
  notifiedFIFO_elt_t *msg = pullNotifiedFIFO_nothreadSafe(nf);
  const bool waits = !msg && !nf->abortFIFO;
  mutexunlock(nf->lockF);
  if (!waits)
    return msg;
  if (ws_blocking_begin) // without the lock: it may wake a worker, and others want to push
    ws_blocking_begin();
  mutexlock(nf->lockF);
  while (!(msg = pullNotifiedFIFO_nothreadSafe(nf)) && !nf->abortFIFO)
    condwait(nf->notifF, nf->lockF);
  mutexunlock(nf->lockF);
  if (ws_blocking_end)
    ws_blocking_end();
  return msg;
}

/// @brief Take the oldest element if there is one and no thread holds the lock. @return NULL otherwise
static inline notifiedFIFO_elt_t *pollNotifiedFIFO(notifiedFIFO_t *nf)
{
  if (mutextrylock(nf->lockF) != 0)
    return NULL;
  notifiedFIFO_elt_t *msg = pullNotifiedFIFO_nothreadSafe(nf);
  mutexunlock(nf->lockF);
  return msg;
}

/// @brief Delete what is queued, wake threads that wait; from now on pulls return NULL and pushes do nothing.
static inline void abortNotifiedFIFO(notifiedFIFO_t *nf)
{
  mutexlock(nf->lockF);
  __atomic_store_n(&nf->abortFIFO, true, __ATOMIC_RELAXED); // relaxed: a hint outside the lock
  while (nf->outF) {
    notifiedFIFO_elt_t *msg = nf->outF;
    __atomic_store_n(&nf->outF, msg->next, __ATOMIC_RELAXED); // relaxed: a hint outside the lock
    delNotifiedFIFO_elt(msg);
  }
  nf->inF = NULL;
  condbroadcast(nf->notifF);
  mutexunlock(nf->lockF);
}

/// @return statistics of one trial: the time that the job took; zeros when the pool did not measure
static inline time_stats_t exec_time_stats_NotifiedFIFO(const notifiedFIFO_elt_t *elt)
{
  time_stats_t stats = {0};
  if (elt->startProcessingTime == 0 && elt->endProcessingTime == 0)
    return stats;
  const oai_cputime_t taken = elt->endProcessingTime - elt->startProcessingTime;
  stats.in = elt->startProcessingTime;
  stats.trials = 1;
  stats.diff = stats.p_time = stats.max = taken;
  stats.diff_square = taken * taken;
  return stats;
}

#endif
