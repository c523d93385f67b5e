// SPDX-License-Identifier: BSD-3-Clause
/// @file handover.c
/// Data that change hands, under the C11 memory model (GenMC). -DLANE: a lane, and the table of lanes
/// (LANE_OWNER, LANE_TABLE). -DSTART: what workers and the creator of a pool have set up (START). -DABORT:
/// the caller's FIFO in shape A (TPOOL_ABORT). Each has the accesses of the code in their order. The data are
/// plain, so that a race on them is an error. The protocols: Lane.pml, Start.pml, Abort.pml.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#ifndef PUBLISH
#define PUBLISH memory_order_release // what the first thread stores after the data
#endif
#ifndef SEEN
#define SEEN memory_order_acquire // what the second thread reads before them
#endif
#ifndef TAKE
#define TAKE memory_order_acq_rel
#endif
#ifndef TABLE
#define TABLE memory_order_release
#endif
#define RELAXED memory_order_relaxed

static atomic_int owner, queues, started, aborted, delivering;
static int data[2], pool;

#if defined(LANE)
static void *first(void *index)
{
  data[0] = 1; // of the table
  atomic_store_explicit(&owner, 1, RELAXED);
  atomic_store_explicit(&queues, 1, TABLE);
  data[1] = 1; // the owner's
  atomic_store_explicit(&owner, 0, PUBLISH);
  return index;
}

static void *second(void *index)
{
  int nobody = 0;
  if (atomic_load_explicit(&queues, SEEN) == 0)
    return index;
  assert(data[0] == 1);
  if (atomic_load_explicit(&owner, RELAXED) == 0
      && atomic_compare_exchange_strong_explicit(&owner, &nobody, 2, TAKE, RELAXED)) {
    assert(data[1] >= 1);
    data[1]++;
    atomic_store_explicit(&owner, 0, PUBLISH);
  }
  return index;
}
#elif defined(START)
static void *first(void *index)
{
  data[0] = 1;
  atomic_fetch_add_explicit(&started, 1, PUBLISH);
  __VERIFIER_assume(atomic_load_explicit(&started, SEEN) >= 8);
  assert(pool == 1 && data[1] == 1);
  return index;
}

static void *second(void *index)
{
  data[1] = 1;
  atomic_fetch_add_explicit(&started, 1, PUBLISH);
  __VERIFIER_assume(atomic_load_explicit(&started, SEEN) >= 8);
  assert(pool == 1 && data[0] == 1);
  return index;
}
#else
#ifndef COUNT
#define COUNT memory_order_seq_cst
#endif
#ifndef LOOK
#define LOOK memory_order_seq_cst
#endif
static void *first(void *index)
{
  atomic_fetch_add_explicit(&delivering, 1, COUNT);
  if (!atomic_load_explicit(&aborted, LOOK))
    pool = 1; // a result
  atomic_fetch_sub_explicit(&delivering, 1, COUNT);
  return index;
}

static void *second(void *index)
{
  atomic_exchange_explicit(&aborted, 1, COUNT);
  __VERIFIER_assume(atomic_load_explicit(&delivering, LOOK) == 0);
  pool = 2; // the FIFO is gone
  return index;
}
#endif

int main(void)
{
  pthread_t thread[3];
  pthread_create(&thread[0], NULL, first, NULL);
  pthread_create(&thread[1], NULL, second, NULL);
#if defined(LANE)
  pthread_create(&thread[2], NULL, second, NULL);
  pthread_join(thread[2], NULL);
#elif defined(START)
  __VERIFIER_assume(atomic_load_explicit(&started, SEEN) == 2);
  assert(data[0] == 1 && data[1] == 1);
  pool = 1;
  atomic_fetch_add_explicit(&started, 8, PUBLISH);
#endif
  pthread_join(thread[0], NULL);
  pthread_join(thread[1], NULL);
  return 0;
}
