// SPDX-License-Identifier: BSD-3-Clause
/// @file shared.c
/// The shipped tasks/ws_shared.h under the C11 memory model (GenMC): BEFORE tasks are queued; PUSHERS threads
/// push a task each, one takes the oldest TAKES times, one looks for a task from the middle, as a thread that
/// waits does. run_genmc makes mutants by editing a copy of the header. The steps' order: Shared.pml.
/// "reuse relaxed" passes, also in a model of processors (IMM): the CAS on taken orders the copy before the
/// cell's turn, and each word of the cell is atomic.
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
#include "tasks/ws_shared.h"

#ifndef BEFORE
#define BEFORE 2
#endif
#ifndef PUSHERS
#define PUSHERS 1
#endif
#ifndef TAKES
#define TAKES 2
#endif
#define CAPACITY 2
#define TASKS (BEFORE + PUSHERS)

static ws_shared_t shared;
static ws_shared_cell_t cells[CAPACITY];
static int payload[TASKS]; // plain: a race on it is an error
static ws_au32_t pushed, ran[TASKS];

static void run_task(const ws_task_t *task)
{
  const int *value = task->arg;
  assert(value != NULL && *value == 7);
  assert(ws_add_relaxed(&ran[value - payload], 1) == 0);
}

static void *push(void *value)
{
  uint64_t index;
  ws_shared_cell_t *cell = ws_shared_claim(&shared, &index);
  ws_task_t task;
  task.func = NULL;
  task.arg = value;
  task.group = NULL;
  task.priority = WS_PRIORITY_NORMAL;
  task.node = 0;
  if (cell) {
    *(int *)value = 7;
    ws_shared_publish(cell, index, &task);
    ws_add_relaxed(&pushed, 1);
  }
  return NULL;
}

static void *take(void *unused)
{
  ws_task_t task;
  for (int i = 0; i < TAKES; i++)
    if (ws_shared_take(&shared, &task))
      run_task(&task);
  return unused;
}

static void *look(void *unused)
{
  ws_task_t task;
  const uint64_t end = ws_load_relaxed(&shared.tail);
  for (uint64_t i = ws_load_relaxed(&shared.head); i < end; i++) {
    if (ws_shared_peek(&shared, i, &task) == WS_SHARED_THERE && ws_shared_take_at(&shared, i)) {
      ws_shared_pass(&shared);
      run_task(&task);
      break;
    }
  }
  return unused;
}

int main(void)
{
  pthread_t thread[PUSHERS + 2];
  ws_task_t task;
  ws_shared_init(&shared, cells, CAPACITY);
  for (int i = 0; i < BEFORE; i++)
    push(&payload[i]);
  for (int i = 0; i < PUSHERS; i++)
    pthread_create(&thread[i], NULL, push, &payload[BEFORE + i]);
  pthread_create(&thread[PUSHERS], NULL, take, NULL);
  pthread_create(&thread[PUSHERS + 1], NULL, look, NULL);
  for (int i = 0; i < PUSHERS + 2; i++)
    pthread_join(thread[i], NULL);
  while (ws_shared_take(&shared, &task))
    run_task(&task);
  uint32_t sum = 0;
  for (int i = 0; i < TASKS; i++)
    sum += ws_load_relaxed(&ran[i]);
  assert(sum == ws_load_relaxed(&pushed));
  return 0;
}
