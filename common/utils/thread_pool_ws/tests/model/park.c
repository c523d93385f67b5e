// SPDX-License-Identifier: BSD-3-Clause
/// @file park.c
/// Announce, fence, look again, sleep; publish, fence, claim, token (ws_park, wake_one) under the
/// C11 memory model. One producer publishes NT tasks at once and wakes every parked worker that it sees; W
/// workers take them. A worker that is never woken shows as a thread that waits without end.
/// -DNO_PFENCE, -DNO_WFENCE: without the producer's, the worker's fence; -DRMW_ONLY: the producer publishes
/// with a read-modify-write in place of a fence.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define ACQ_REL memory_order_acq_rel

#ifndef NT
#define NT 1
#endif
#ifndef W
#define W 1
#endif

static atomic_uint bottom, top, sleepers, token[W], finished;
static atomic_int cell[NT], ran[NT];
static int payload[NT];

static int take(void)
{
  unsigned index = atomic_load_explicit(&top, ACQUIRE);
  if (index >= atomic_load_explicit(&bottom, ACQUIRE))
    return 0;
  const int value = atomic_load_explicit(&cell[index % NT], RELAXED);
  if (!atomic_compare_exchange_strong_explicit(&top, &index, index + 1, ACQ_REL, RELAXED))
    return -1;
  assert(value == (int)index + 1 && payload[index] == 42 + (int)index);
  assert(atomic_fetch_add_explicit(&ran[index], 1, RELAXED) == 0);
  atomic_fetch_add_explicit(&finished, 1, ACQ_REL);
  return 1;
}

/// @return whether the worker may end: all tasks are published, so nothing more comes
static int park(unsigned me)
{
  atomic_fetch_or_explicit(&sleepers, 1u << me, ACQ_REL);
#ifndef NO_WFENCE
  atomic_thread_fence(memory_order_seq_cst);
#endif
  const unsigned first = atomic_load_explicit(&top, RELAXED);
  const unsigned end = atomic_load_explicit(&bottom, RELAXED);
  if ((first < end || end == NT) && (atomic_fetch_and_explicit(&sleepers, ~(1u << me), ACQ_REL) & (1u << me)))
    return first >= end;
  while (!atomic_load_explicit(&token[me], ACQUIRE))
    ;
  atomic_store_explicit(&token[me], 0, RELAXED);
  return 0;
}

static void *worker(void *me)
{
  for (int round = 0; round < NT + 1; round++) {
    const int taken = take();
    if (taken >= 0 && atomic_load_explicit(&finished, ACQUIRE) == NT)
      return NULL;
    if (taken == 0 && park((unsigned)(long)me))
      return NULL;
  }
  return NULL;
}

static void *producer(void *unused)
{
  for (int i = 0; i < NT; i++) {
    payload[i] = 42 + i;
    atomic_store_explicit(&cell[i], i + 1, RELAXED);
  }
#ifdef RMW_ONLY
  atomic_fetch_add_explicit(&bottom, NT, ACQ_REL);
#else
  atomic_store_explicit(&bottom, NT, RELEASE);
#ifndef NO_PFENCE
  atomic_thread_fence(memory_order_seq_cst);
#endif
#endif
  const unsigned seen = atomic_load_explicit(&sleepers, RELAXED);
  const unsigned claimed = seen ? atomic_fetch_and_explicit(&sleepers, ~seen, ACQ_REL) & seen : 0;
  for (int i = 0; i < W; i++)
    if (claimed & (1u << i))
      atomic_store_explicit(&token[i], 1, RELEASE);
  return unused;
}

int main(void)
{
  pthread_t thread[W + 1];
  pthread_create(&thread[W], NULL, producer, NULL);
  for (long i = 0; i < W; i++)
    pthread_create(&thread[i], NULL, worker, (void *)i);
  for (int i = 0; i <= W; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
