// SPDX-License-Identifier: BSD-3-Clause
/// @file loose.c
/// The shipped tasks/ws_deque.c under the C11 memory model (GenMC): a queue grows, another thread takes all,
/// the queue shrinks and grows again, while TRIMMERS threads give back pages. run_genmc makes mutants by
/// editing a copy. The steps' order: Loose.pml.
#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The checker needs neither stdio nor a processor's own instructions, nor the operating system.
#undef __x86_64__
#define WS_BASE_H
#define WS_OS_H
#define WS_SPACING 8
#define WS_LIKELY(x) (x)
#define WS_UNLIKELY(x) (x)
#define WS_ASSERT(x) assert(x)
#include "base/ws_atomic.h"
#include "tasks/ws_deque.h"

static void *ws_os_map(size_t bytes)
{
  return NULL;
}
static void ws_os_unmap(void *memory, size_t bytes) {}
static int ws_os_futex_wait(ws_au32_t *word, uint32_t value, uint64_t timeout_ns)
{
  return 0; // the time is up
}
static void ws_os_futex_wake(ws_au32_t *word, uint32_t count) {}
static int ws_os_release_pages(void *memory, size_t bytes);
#include <string.h>
#define memset(memory, value, bytes) ((void)0) // all is 0 from the start
#include "tasks/ws_deque.c"

#ifndef TRIMMERS
#define TRIMMERS 1
#endif
#define BIG 4

static ws_deque_t deque;
static ws_cell_t small[2], big[BIG];
static int value[3];

/// The pages become 0, and stay it until the owner may write again.
static int ws_os_release_pages(void *memory, size_t bytes)
{
  assert(memory == big && bytes == sizeof(big));
  ws_store_relaxed(&big[2].arg, NULL);
  assert(ws_load_relaxed(&big[2].arg) == NULL);
  return 0;
}

static void *trim(void *unused)
{
  ws_deque_trim(&deque);
  return unused;
}

/// Another thread takes the tasks of the first round: the owner's own take has a fence.
static void *steal(void *unused)
{
  ws_steal_memo_t memo;
  ws_task_t task;
  memo.deque = NULL; // by field: the checker cannot follow memset
  for (int i = 0; i < 3; i++) {
    __VERIFIER_assume(ws_deque_steal(&deque, &memo, &task) == WS_STEAL_GOT);
    assert(task.arg == &value[i]);
  }
  return unused;
}

static void push(int i)
{
  ws_task_t task;
  task.func = NULL;
  task.arg = &value[i];
  task.group = NULL;
  ws_deque_push(&deque, &task, 1);
}

int main(void)
{
  pthread_t thief, thread[TRIMMERS];
  ws_task_t task;
  deque.rings[0].mask = 1;
  deque.rings[0].cell = small;
  deque.rings[1].mask = BIG - 1;
  deque.rings[1].cell = big;
  ws_store_relaxed(&deque.top, 1);
  ws_store_relaxed(&deque.bottom, 1);
  ws_store_relaxed(&deque.ring, &deque.rings[0]);
  deque.top_seen = 1;
  pthread_create(&thief, NULL, steal, NULL);
  for (int i = 0; i < TRIMMERS; i++)
    pthread_create(&thread[i], NULL, trim, NULL);
  push(0);
  push(1);
  assert(ws_deque_grow(&deque));
  push(2);
  __VERIFIER_assume(ws_deque_shrink(&deque)); // when all are taken
  push(0);
  push(1);
  const int last = ws_deque_grow(&deque) ? 2 : 1;
  if (last == 2)
    push(2);
  for (int i = 0; i < TRIMMERS; i++)
    pthread_join(thread[i], NULL);
  for (int i = last; i >= 0; i--)
    assert(ws_deque_take(&deque, &task) && task.arg == &value[i]);
  pthread_join(thief, NULL);
  return 0;
}
