// SPDX-License-Identifier: BSD-3-Clause
/// @file search.c
/// The last searcher's rule (ws_search_found) under the C11 memory model. A is the only searcher and has
/// just claimed task 0; B is parked; P publishes task 1 and wakes no worker if it sees a searcher. A wakes if
/// more tasks are queued than threads search by now. Task 0 does not end before task 1 has run, so that a
/// missing wake shows as a thread that waits without end.
/// -DNO_LFENCE: A relies on its read-modify-write alone; -DNO_PFENCE: P has no fence.
#include <pthread.h>
#include <stdatomic.h>

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define ACQ_REL memory_order_acq_rel

static atomic_uint bottom, top, sleepers, searching, token, has_run;

static void wake(void)
{
  if (!(atomic_fetch_and_explicit(&sleepers, ~1u, ACQ_REL) & 1u))
    return;
  atomic_fetch_add_explicit(&searching, 1, RELAXED);
  atomic_store_explicit(&token, 1, RELEASE);
}

static void *searcher(void *unused)
{
  unsigned index = 0;
  atomic_compare_exchange_strong_explicit(&top, &index, 1, ACQ_REL, RELAXED);
  if (atomic_fetch_sub_explicit(&searching, 1, ACQ_REL) == 1) {
#ifndef NO_LFENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
    if (atomic_load_explicit(&sleepers, RELAXED) & 1u) {
      const unsigned others = atomic_load_explicit(&searching, RELAXED);
      if (atomic_load_explicit(&bottom, RELAXED) - 1u > others)
        wake();
    }
  }
  while (!atomic_load_explicit(&has_run, ACQUIRE)) // task 0 runs
    ;
  return unused;
}

static void *sleeper(void *unused)
{
  while (!atomic_load_explicit(&token, ACQUIRE)) // parked
    ;
  while (atomic_load_explicit(&bottom, ACQUIRE) < 2u)
    ;
  atomic_store_explicit(&has_run, 1, RELEASE);
  return unused;
}

static void *producer(void *unused)
{
  atomic_store_explicit(&bottom, 2, RELEASE);
#ifndef NO_PFENCE
  atomic_thread_fence(memory_order_seq_cst);
#endif
  if (atomic_load_explicit(&searching, RELAXED) == 0 && (atomic_load_explicit(&sleepers, RELAXED) & 1u))
    wake();
  return unused;
}

int main(void)
{
  pthread_t thread[3];
  atomic_init(&bottom, 1);
  atomic_init(&top, 0);
  atomic_init(&searching, 1);
  atomic_init(&sleepers, 1);
  pthread_create(&thread[0], NULL, searcher, NULL);
  pthread_create(&thread[1], NULL, sleeper, NULL);
  pthread_create(&thread[2], NULL, producer, NULL);
  for (int i = 0; i < 3; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
