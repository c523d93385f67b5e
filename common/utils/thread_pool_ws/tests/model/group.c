// SPDX-License-Identifier: BSD-3-Clause
/// @file group.c
/// The word of core/ws_group.c under the C11 memory model: two completers, a waiter that sets the bit, sleeps
/// (spins here), frees the group and reads what the tasks wrote. -DDONE_ORDER: order of the subtraction;
/// -DSEEN_ORDER: of the waiter's loads; -DREAD_AGAIN: a completer looks at the word once more.
#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#ifndef DONE_ORDER
#define DONE_ORDER memory_order_acq_rel
#endif
#ifndef SEEN_ORDER
#define SEEN_ORDER memory_order_acquire
#endif

static atomic_uint *word;
static int result[2];

static void *task(void *index)
{
  const long i = (long)index;
  result[i] = 1;
  const unsigned before = atomic_fetch_sub_explicit(word, 2, DONE_ORDER);
#ifdef READ_AGAIN
  if (atomic_load_explicit(word, memory_order_relaxed) == 1)
    return NULL;
#endif
  if (before == 3) // the last, and a thread sleeps: a wake by address, which touches no memory
    return NULL;
  return NULL;
}

int main(void)
{
  pthread_t thread[2];
  word = malloc(sizeof(*word));
  atomic_init(word, 4);
  pthread_create(&thread[0], NULL, task, (void *)0);
  pthread_create(&thread[1], NULL, task, (void *)1);
  if (atomic_fetch_or_explicit(word, 1, SEEN_ORDER) / 2 != 0)
    while (atomic_load_explicit(word, SEEN_ORDER) / 2 != 0)
      ;
  free(word);
  assert(result[0] == 1 && result[1] == 1);
  return 0;
}
