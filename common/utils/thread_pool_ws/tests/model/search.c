// SPDX-License-Identifier: BSD-3-Clause
/// @file search.c
/// The last searcher's rule (ws_search_found) under the C11 memory model. Each of SEARCHERS workers has just
/// taken a task, and they are the only searchers. They are counted in different domains, with -DSAME in
/// one. Another worker is parked. P publishes one more task, and wakes no worker if it sees a searcher in any
/// domain. The last searcher of a domain looks, unless another domain has searchers. It wakes a worker if the
/// task is queued. The tasks of the searchers do not end before P's task has run, so that a missing wake
/// shows as a thread that waits without end.
/// -DPARKS: one more worker, in the last domain, begins a search meanwhile, and parks if it finds nothing: it
/// leaves, and looks again after a fence.
/// -DNO_LFENCE: a searcher relies on its read-modify-write alone; -DNO_PFENCE: P has no fence;
/// -DTRUSTS_EARLY: a searcher looks at other domains before its fence; -DNEVER_LOOKS: the last searcher of a
/// domain does not look if there are several; -DNO_KFENCE: the worker that parks has no fence.
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#define RELAXED memory_order_relaxed
#define ACQUIRE memory_order_acquire
#define RELEASE memory_order_release
#define ACQ_REL memory_order_acq_rel

#ifndef SEARCHERS
#define SEARCHERS 1
#endif
#if (SEARCHERS > 1 || defined(PARKS)) && !defined(SAME)
#define DOMAINS 2
#else
#define DOMAINS 1
#endif

static atomic_uint bottom, sleepers, searching[DOMAINS], token, has_run;

static unsigned searchers(void)
{
  unsigned sum = 0;
  for (int i = 0; i < DOMAINS; i++)
    sum += atomic_load_explicit(&searching[i], RELAXED);
  return sum;
}

static void wake(void)
{
  if (!(atomic_fetch_and_explicit(&sleepers, ~1u, ACQ_REL) & 1u))
    return;
  atomic_fetch_add_explicit(&searching[0], 1, ACQ_REL);
  atomic_store_explicit(&token, 1, RELEASE);
}

static void *searcher(void *domain)
{
  const long i = (long)domain;
  if (atomic_fetch_sub_explicit(&searching[i], 1, ACQ_REL) == 1) {
#ifdef TRUSTS_EARLY
    const unsigned others = searchers();
#endif
#ifndef NO_LFENCE
    atomic_thread_fence(memory_order_seq_cst);
#endif
#ifdef NEVER_LOOKS
    const unsigned others = DOMAINS - 1;
#elif !defined(TRUSTS_EARLY)
    const unsigned others = searchers();
#endif
    if (others == 0 && (atomic_load_explicit(&sleepers, RELAXED) & 1u) && searchers() == 0
        && atomic_load_explicit(&bottom, RELAXED) > SEARCHERS)
      wake();
  }
  while (!atomic_load_explicit(&has_run, ACQUIRE)) // its task runs
    ;
  return NULL;
}

static void *parker(void *unused)
{
  atomic_fetch_add_explicit(&searching[DOMAINS - 1], 1, ACQ_REL);
  bool found = atomic_load_explicit(&bottom, ACQUIRE) > SEARCHERS;
  atomic_fetch_sub_explicit(&searching[DOMAINS - 1], 1, ACQ_REL);
#ifndef NO_KFENCE
  atomic_thread_fence(memory_order_seq_cst);
#endif
  found |= atomic_load_explicit(&bottom, ACQUIRE) > SEARCHERS;
  if (found)
    atomic_fetch_add_explicit(&has_run, 1, ACQ_REL);
  return unused;
}

static void *sleeper(void *unused)
{
  while (!atomic_load_explicit(&token, ACQUIRE)) // parked
    if (atomic_load_explicit(&has_run, ACQUIRE))
      return unused;
  while (atomic_load_explicit(&bottom, ACQUIRE) <= SEARCHERS)
    ;
  atomic_fetch_add_explicit(&has_run, 1, ACQ_REL);
  return unused;
}

static void *producer(void *unused)
{
  atomic_store_explicit(&bottom, SEARCHERS + 1, RELEASE);
#ifndef NO_PFENCE
  atomic_thread_fence(memory_order_seq_cst);
#endif
  if (searchers() == 0 && (atomic_load_explicit(&sleepers, RELAXED) & 1u))
    wake();
  return unused;
}

int main(void)
{
  pthread_t thread[SEARCHERS + 3];
  atomic_init(&bottom, SEARCHERS);
  atomic_init(&sleepers, 1);
  for (int i = 0; i < DOMAINS; i++)
    atomic_init(&searching[i], (SEARCHERS + DOMAINS - 1 - i) / DOMAINS);
  for (long i = 0; i < SEARCHERS; i++)
    pthread_create(&thread[i], NULL, searcher, (void *)(i % DOMAINS));
  pthread_create(&thread[SEARCHERS], NULL, sleeper, NULL);
  pthread_create(&thread[SEARCHERS + 1], NULL, producer, NULL);
  int threads = SEARCHERS + 2;
#ifdef PARKS
  pthread_create(&thread[threads++], NULL, parker, NULL);
#endif
  for (int i = 0; i < threads; i++)
    pthread_join(thread[i], NULL);
  return 0;
}
