// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deque_steps.c
/// The owner is stopped before each single atomic step of a take and a push, a thief steals some tasks there,
/// the owner goes on, the thief steals the rest: all such interleavings, one after the other, on one thread.
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

#include "../../../tasks/ws_deque.h"
#include "../../support/ws_test.h"

#define TASKS_MAX 6u

static ws_deque_t deque;
static ws_steal_memo_t memo;
static uint32_t taken[TASKS_MAX + 2]; ///< times, by number
static int32_t steps_left; ///< until the thief comes; < 0 = it does not, or has come
static uint32_t thief_steals;

static void got(const ws_task_t *task)
{
  const uintptr_t number = (uintptr_t)task->arg;
  taken[number <= TASKS_MAX ? number : 0]++;
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
  if (steps_left >= 0 && steps_left-- == 0)
    thief(thief_steals);
}

static void push(uintptr_t number)
{
  ws_deque_push(&deque, &(ws_task_t){.func = test_empty_task, .arg = (void *)number}, 1);
}

static void take(void)
{
  ws_task_t task = {0};
  if (ws_deque_take(&deque, &task))
    got(&task);
}

/// @param size  tasks, of which the thief has stolen @p known before, so that it remembers the deque
/// @param at  the step of the owner's take, and push after it, at which the thief comes
/// @return false: they have fewer steps
static bool play(uint32_t size, uint32_t known, bool pushes, int32_t at)
{
  static ws_cell_t cells[8];
  ws_deque_init(&deque, cells, 8);
  memo = (ws_steal_memo_t){0};
  for (uint32_t i = 0; i < TEST_COUNT(taken); i++)
    taken[i] = 0;
  steps_left = -1;
  for (uint32_t i = 1; i <= size; i++)
    push(i);
  thief(known);
  steps_left = at;
  take();
  if (pushes)
    push(size + 1);
  const bool came = steps_left < 0;
  thief(TASKS_MAX);
  for (uint32_t i = 0; i <= TASKS_MAX; i++)
    take();
  bool good = taken[0] == 0;
  for (uint32_t i = 1; i <= size + pushes; i++)
    good &= taken[i] == 1;
  if (!good)
    printf("\n    %u tasks, the thief knew %u, came at step %d%s, and stole %u\n", size, known, at,
           pushes ? " of a take and a push" : "", thief_steals);
  CU_ASSERT_TRUE(good);
  return came;
}

TEST_CASE(a_thief_comes_at_each_step)
{
  uint32_t tried = 0;
  for (uint32_t pushes = 0; pushes <= 1; pushes++)
    for (uint32_t size = 1; size + pushes <= TASKS_MAX; size++)
      for (uint32_t known = 0; known <= 1; known++)
        for (thief_steals = 1; thief_steals <= size + pushes; thief_steals++)
          for (int32_t at = 0; play(size, known, pushes, at); at++)
            tried++;
  CU_ASSERT_TRUE(tried > 500);
}

TEST_MAIN("deque_steps")
