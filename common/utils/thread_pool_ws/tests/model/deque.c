// SPDX-License-Identifier: BSD-3-Clause
/// @file deque.c
/// The shipped tasks/ws_deque.h under the C11 memory model (GenMC). The owner pushes TASKS, takes TAKES; each
/// thief steals TRIES times and keeps its memo. run_genmc makes mutants by editing a copy of the header.
#include <assert.h>
#include <pthread.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The checker needs neither stdio nor a processor's own instructions.
#undef __x86_64__
#define WS_BASE_H
#define WS_SPACING 8
#define WS_LIKELY(x) (x)
#define WS_UNLIKELY(x) (x)
#include "tasks/ws_deque.h"

#ifndef TASKS
#define TASKS 3
#endif
#ifndef TAKES
#define TAKES 1
#endif
#ifndef TRIES
#define TRIES 3
#endif
#ifndef THIEVES
#define THIEVES 1
#endif

static ws_deque_t deque;
static ws_cell_t cells[4];
static int payload[TASKS + 1]; // plain: a race on it is an error
static ws_au32_t ran[TASKS + 1];

static void run_task(const ws_task_t *task)
{
  const int *value = task->arg;
  assert(value != NULL && *value == 7);
  assert(ws_add_relaxed(&ran[value - payload], 1) == 0);
}

static void *thief(void *unused)
{
  ws_steal_memo_t memo;
  memo.deque = NULL; // by field: the checker cannot follow memset
  ws_task_t task;
  for (int i = 0; i < TRIES; i++)
    if (ws_deque_steal(&deque, &memo, &task) == WS_STEAL_GOT)
      run_task(&task);
  return unused;
}

int main(void)
{
  pthread_t thread[THIEVES];
  deque.rings[0].mask = 3;
  deque.rings[0].cell = cells;
  ws_store_relaxed(&deque.top, 1);
  ws_store_relaxed(&deque.bottom, 1);
  ws_store_relaxed(&deque.ring, &deque.rings[0]);
  deque.top_seen = 1;
  for (int i = 0; i < THIEVES; i++)
    pthread_create(&thread[i], NULL, thief, NULL);
  ws_task_t task;
  task.func = NULL;
  task.group = NULL;
  for (int i = 1; i <= TASKS; i++) {
    payload[i] = 7;
    task.arg = &payload[i];
    ws_deque_push(&deque, &task, 1);
  }
  for (int i = 0; i < TAKES; i++)
    if (ws_deque_take(&deque, &task))
      run_task(&task);
  for (int i = 0; i < THIEVES; i++)
    pthread_join(thread[i], NULL);
  while (ws_deque_take(&deque, &task))
    run_task(&task);
  for (int i = 1; i <= TASKS; i++)
    assert(ws_load_relaxed(&ran[i]) == 1);
  return 0;
}
