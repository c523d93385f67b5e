// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deque_steps.c
/// The owner is stopped before each single atomic step of a take or push, a thief steals some tasks there,
/// the owner goes
/// on, the thief steals the rest: all such interleavings, one after the other, on one thread.
#include "../../../base/ws_atomic.h"

static void step(void);
#undef ws_load_relaxed
#undef ws_load_acquire
#undef ws_store_relaxed
#undef ws_store_release
#undef ws_cas_seq_cst
#define ws_load_relaxed(a) (step(), __atomic_load_n(&(a)->v, __ATOMIC_RELAXED))
#define ws_load_acquire(a) (step(), __atomic_load_n(&(a)->v, __ATOMIC_ACQUIRE))
#define ws_store_relaxed(a, x) (step(), __atomic_store_n(&(a)->v, (x), __ATOMIC_RELAXED))
#define ws_store_release(a, x) (step(), __atomic_store_n(&(a)->v, (x), __ATOMIC_RELEASE))
#define ws_cas_seq_cst(a, expected, x)                                                                       \
  (step(), __atomic_compare_exchange_n(&(a)->v, (expected), (x), false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED))

#include <stdio.h>
#include <string.h>

#include "../../../tasks/ws_deque.h"
#include "../../support/ws_test.h"

#define TASKS_MAX 6u

static ws_cell_t cells[8];
static ws_deque_t deque;
static ws_steal_memo_t memo;
static uint32_t taken[TASKS_MAX + 2];
static int32_t steps_left; ///< until the thief comes; < 0 = it does not
static uint32_t thief_steals;
static bool came;

static void got(const ws_task_t *task)
{
  const uintptr_t number = (uintptr_t)task->arg;
  taken[number <= TASKS_MAX ? number : TASKS_MAX + 1]++;
}

static void thief(uint32_t steals)
{
  ws_task_t task = {0};
  steps_left = -1;
  for (; steals > 0; steals--)
    if (ws_deque_steal(&deque, &memo, &task) == WS_STEAL_GOT)
      got(&task);
}

static void step(void)
{
  if (steps_left < 0 || steps_left-- > 0)
    return;
  came = true;
  thief(thief_steals);
}

static void push_number(uint64_t number)
{
  const ws_task_t task = {.func = test_empty_task, .arg = (void *)(uintptr_t)number};
  ws_deque_push(&deque, &task, 1);
}

static void begin(uint32_t size, uint32_t known)
{
  memset(taken, 0, sizeof(taken));
  ws_deque_init(&deque, cells, 8);
  memo = (ws_steal_memo_t){0};
  came = false;
  steps_left = -1;
  for (uint32_t i = 1; i <= size; i++)
    push_number(i);
  thief(known); // with one, the thief remembers the deque from before
}

static bool each_once(uint32_t size)
{
  for (uint32_t i = 1; i <= size; i++)
    if (taken[i] != 1)
      return false;
  return taken[0] == 0 && taken[TASKS_MAX + 1] == 0;
}

/// One take with a thief at its step number @p at. @return false when the take has fewer steps
static bool try_take(uint32_t size, uint32_t known, int32_t at, uint32_t steals)
{
  ws_task_t task = {0};
  begin(size, known);
  thief_steals = steals;
  steps_left = at;
  const bool took = ws_deque_take(&deque, &task);
  if (took)
    got(&task);
  steps_left = -1;
  thief(TASKS_MAX);
  while (ws_deque_take(&deque, &task))
    got(&task);
  if (!each_once(size))
    printf("\n  %u tasks, thief knew %u, came at step %d and stole %u\n", size, known, at, steals);
  CU_ASSERT_TRUE(each_once(size));
  CU_ASSERT_EQUAL(ws_deque_size(&deque), 0);
  return came;
}

static void thief_at_every_step_of_a_take(void)
{
  uint32_t tried = 0;
  for (uint32_t size = 1; size <= TASKS_MAX; size++)
    for (uint32_t known = 0; known <= 1; known++)
      for (uint32_t steals = 1; steals <= size; steals++)
        for (int32_t at = 0; try_take(size, known, at, steals); at++)
          tried++;
  CU_ASSERT_TRUE(tried > 100);
}

/// As try_take, but the owner pushes a task over the place of the one it took.
static bool try_take_and_push(uint32_t size, int32_t at, uint32_t steals)
{
  ws_task_t task = {0};
  begin(size, 0);
  thief_steals = steals;
  steps_left = at;
  if (ws_deque_take(&deque, &task))
    got(&task);
  push_number(size + 1);
  steps_left = -1;
  thief(TASKS_MAX + 1);
  while (ws_deque_take(&deque, &task))
    got(&task);
  CU_ASSERT_TRUE(each_once(size + 1));
  return came;
}

static void thief_at_every_step_of_a_take_and_a_push(void)
{
  uint32_t tried = 0;
  for (uint32_t size = 1; size < TASKS_MAX; size++)
    for (uint32_t steals = 1; steals <= size + 1; steals++)
      for (int32_t at = 0; try_take_and_push(size, at, steals); at++)
        tried++;
  CU_ASSERT_TRUE(tried > 100);
}

/// The owner takes everything while a thief stands between its peek and its commit.
static void owner_empties_between_peek_and_commit(void)
{
  for (uint32_t size = 1; size <= TASKS_MAX; size++) {
    ws_task_t stolen = {0}, task;
    uint64_t index = 0;
    begin(size, 0);
    const bool peeked = ws_deque_steal_peek(&deque, &memo, &stolen, &index);
    CU_ASSERT_TRUE(peeked);
    while (ws_deque_take(&deque, &task))
      got(&task);
    if (ws_deque_steal_commit(&deque, index))
      got(&stolen);
    CU_ASSERT_TRUE(each_once(size));
  }
}

TEST_MAIN("deque_steps", TEST_CASE(thief_at_every_step_of_a_take),
          TEST_CASE(thief_at_every_step_of_a_take_and_a_push),
          TEST_CASE(owner_empties_between_peek_and_commit))
