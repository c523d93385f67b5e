// SPDX-License-Identifier: BSD-3-Clause
/// @file test_dig.c
/// A wait of a thread outside. Thieves are quicker at each of its steals, but leave tasks of its group. What
/// a thief remembers of a queue.
#include "../../../base/ws_atomic.h"

static bool cas(ws_au64_t *top, uint64_t *seen, uint64_t next);
#undef ws_cas_seq_cst
#define ws_cas_seq_cst(a, expected, x) cas((a), (expected), (x))

#include "../../../tasks/ws_dig.c"
#include "../../support/ws_test.h"

static uint32_t thefts; ///< of other threads that are still to come, each before the owner's

static bool cas(ws_au64_t *top, uint64_t *seen, uint64_t next)
{
  if (thefts > 0) {
    thefts--;
    __atomic_fetch_add(&top->v, 1, __ATOMIC_SEQ_CST);
  }
  return __atomic_compare_exchange_n(&top->v, seen, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

/// Below many others.
TEST_CASE(a_late_wait_finds_what_is_left)
{
  enum { OF_GROUP = WS_STEAL_TRIES + 1, OTHERS = 2000 };
  static ws_cell_t cells[2048];
  static ws_tasks_t tasks;
  static ws_queue_t queue;
  ws_group_t group, other;
  ws_task_t task = {0};
  ws_deque_init(&queue.deque, cells, sizeof cells / sizeof cells[0]);
  for (uint32_t i = 0; i < OF_GROUP; i++)
    ws_deque_push(&queue.deque, &(ws_task_t){.func = test_empty_task, .group = &group}, 1);
  for (uint32_t i = 0; i < OTHERS; i++)
    ws_deque_push(&queue.deque, &(ws_task_t){.func = test_empty_task, .group = &other}, 1);
  ws_wait_t wait = {.group = &group, .queue = &queue, .base = end_of(&queue)};
  queue.wait = &wait;
  thefts = WS_STEAL_TRIES;
  CU_ASSERT_TRUE(ws_dig(&tasks, &queue, &task));
  CU_ASSERT_PTR_EQUAL(task.group, &group);
  CU_ASSERT_EQUAL(ws_deque_size(&queue.deque), OTHERS);
}

/// It need not look for tasks that it knows of, until the owner has taken as many; nor of another queue.
TEST_CASE(a_thief_remembers_what_it_saw)
{
  static ws_cell_t cells[8];
  ws_deque_t deque, other;
  ws_steal_memo_t memo = {0};
  ws_task_t task = {.func = test_empty_task};
  ws_deque_init(&deque, cells, 8);
  ws_deque_init(&other, cells, 8);
  for (uint32_t i = 0; i < 4; i++)
    ws_deque_push(&deque, &task, 1);
  CU_ASSERT_EQUAL(ws_deque_steal(&deque, &memo, &task), WS_STEAL_GOT);
  CU_ASSERT_EQUAL(memo.bottom - ws_load_relaxed(&deque.top), 3);
  CU_ASSERT_TRUE(ws_memo_holds(&memo, &deque) && !ws_memo_holds(&memo, &other));
  for (uint32_t i = 0; i < 3; i++)
    CU_ASSERT_TRUE(ws_deque_take(&deque, &task));
  CU_ASSERT_NOT_EQUAL(ws_deque_steal(&deque, &memo, &task), WS_STEAL_GOT);
}

TEST_MAIN("dig")
