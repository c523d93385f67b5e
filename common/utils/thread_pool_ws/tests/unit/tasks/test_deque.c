// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deque.c
/// One thread: order, wrap-around, growth, shrinking, loose pages, what a thief remembers. Thieves:
/// test_deque_race.c.
#include "../../../tasks/ws_deque.h"

#include <string.h>

#include "../../support/ws_test.h"

static ws_cell_t cells[16];
static ws_deque_t deque;

static void fresh(uint64_t capacity)
{
  memset(cells, 0, sizeof(cells));
  ws_deque_init(&deque, cells, capacity);
}

static ws_task_t numbered(uint64_t number)
{
  return (ws_task_t){.func = test_empty_task, .arg = (void *)(uintptr_t)number};
}

static void put(uint64_t number)
{
  const ws_task_t task = numbered(number);
  while (!ws_deque_has_room(&deque, 1))
    if (!ws_deque_grow(&deque))
      return;
  ws_deque_push(&deque, &task, 1);
}

/// 0 = nothing
static uint64_t take(void)
{
  ws_task_t task;
  return ws_deque_take(&deque, &task) ? (uint64_t)(uintptr_t)task.arg : 0;
}

static uint64_t steal(ws_steal_memo_t *memo)
{
  ws_task_t task;
  return ws_deque_steal(&deque, memo, &task) == WS_STEAL_GOT ? (uint64_t)(uintptr_t)task.arg : 0;
}

static void owner_takes_newest_thief_oldest(void)
{
  fresh(8);
  ws_steal_memo_t memo = {0};
  for (uint64_t i = 1; i <= 6; i++)
    put(i);
  CU_ASSERT_EQUAL(ws_deque_size(&deque), 6);
  CU_ASSERT_EQUAL(take(), 6);
  CU_ASSERT_EQUAL(steal(&memo), 1);
  CU_ASSERT_EQUAL(steal(&memo), 2);
  CU_ASSERT_EQUAL(take(), 5);
  CU_ASSERT_EQUAL(steal(&memo), 3);
  CU_ASSERT_EQUAL(take(), 4);
  CU_ASSERT_EQUAL(take(), 0);
  CU_ASSERT_EQUAL(steal(&memo), 0);
  CU_ASSERT_EQUAL(ws_deque_size(&deque), 0);
}

static void peek_sees_both_ends_and_takes_nothing(void)
{
  fresh(4);
  ws_task_t task;
  CU_ASSERT_FALSE(ws_deque_peek(&deque, &task));
  put(1);
  put(2);
  put(3);
  CU_ASSERT_TRUE(ws_deque_peek(&deque, &task) && task.arg == (void *)3);
  CU_ASSERT_EQUAL(ws_deque_size(&deque), 3);
}

static void batch_wraps_around(void)
{
  fresh(4);
  ws_steal_memo_t memo = {0};
  const ws_task_t three[3] = {numbered(1), numbered(2), numbered(3)};
  for (uint64_t lap = 0; lap < 1000; lap++) {
    CU_ASSERT_TRUE_FATAL(ws_deque_has_room(&deque, 3));
    ws_deque_push(&deque, three, 3);
    CU_ASSERT_FALSE_FATAL(ws_deque_has_room(&deque, 2));
    CU_ASSERT_EQUAL_FATAL(steal(&memo), 1);
    CU_ASSERT_EQUAL_FATAL(take(), 3);
    CU_ASSERT_EQUAL_FATAL(steal(&memo), 2);
  }
}

/// Random pushes, takes and steals against a plain array.
static void agrees_with_a_model(void)
{
  fresh(4);
  static uint64_t model[1 << 12];
  uint64_t head = 0, tail = 0, number = 1, random = test_seed();
  ws_steal_memo_t memo = {0};
  for (uint32_t step = 0; step < 200000; step++) {
    const uint64_t choice = test_random(&random) % 8;
    if (choice < 4 && tail - head < TEST_COUNT(model)) {
      model[tail++ % TEST_COUNT(model)] = number;
      put(number++);
    } else if (choice < 6) {
      const uint64_t expected = tail > head ? model[--tail % TEST_COUNT(model)] : 0;
      CU_ASSERT_EQUAL_FATAL(take(), expected);
    } else {
      const uint64_t expected = tail > head ? model[head++ % TEST_COUNT(model)] : 0;
      CU_ASSERT_EQUAL_FATAL(steal(&memo), expected);
    }
    if (tail == head)
      ws_deque_shrink(&deque);
    CU_ASSERT_EQUAL_FATAL(ws_deque_size(&deque), tail - head);
  }
  ws_deque_free(&deque);
}

static void growth_keeps_order_and_counts(void)
{
  fresh(2);
  ws_steal_memo_t memo = {0};
  put(1);
  put(2);
  CU_ASSERT_EQUAL(steal(&memo), 1);
  for (uint64_t i = 3; i <= 100; i++)
    put(i);
  CU_ASSERT_EQUAL(deque.level, 6);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.grown_bytes), 128 * sizeof(ws_cell_t));
  const uint64_t most = ws_load_relaxed(&deque.high_water);
  CU_ASSERT_TRUE(most <= 99 && most >= 99 - 99 / 8 - 1);
  for (uint64_t i = 2; i <= 50; i++)
    CU_ASSERT_EQUAL_FATAL(steal(&memo), i);
  for (uint64_t i = 100; i > 50; i--)
    CU_ASSERT_EQUAL_FATAL(take(), i);
  CU_ASSERT_EQUAL(take(), 0);
  ws_deque_free(&deque);
}

static void shrinks_only_when_empty_and_pages_become_loose(void)
{
  fresh(2);
  for (uint64_t i = 1; i <= 3; i++)
    put(i);
  ws_deque_shrink(&deque);
  CU_ASSERT_EQUAL(deque.level, 1);
  ws_deque_trim(&deque); // nothing is loose: the tasks must stay
  CU_ASSERT_EQUAL(take(), 3);
  CU_ASSERT_EQUAL(take(), 2);
  CU_ASSERT_EQUAL(take(), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.loose), WS_LOOSE_NONE);
  ws_deque_shrink(&deque);
  CU_ASSERT_EQUAL(deque.level, 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.grown_bytes), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.loose), WS_LOOSE_PAGES);
  ws_deque_trim(&deque);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.loose), WS_LOOSE_NONE);
  for (uint64_t i = 1; i <= 20; i++)
    put(i);
  CU_ASSERT_EQUAL(deque.level, 4);
  for (uint64_t i = 20; i >= 1; i--)
    CU_ASSERT_EQUAL_FATAL(take(), i);
  ws_deque_free(&deque);
}

/// A trim's thread may get no CPU: growth must not wait for it without a bound, and must not use the pages.
static void growth_waits_for_a_trim_but_not_without_end(void)
{
  fresh(2);
  for (uint64_t i = 1; i <= 3; i++)
    put(i);
  while (take())
    ;
  ws_deque_shrink(&deque);
  ws_store_relaxed(&deque.loose, WS_LOOSE_TRIMMING); // this thread is at it
  CU_ASSERT_FALSE(ws_deque_grow(&deque));
  CU_ASSERT_EQUAL(deque.level, 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.loose), WS_LOOSE_TRIMMING);
  ws_store_release(&deque.loose, WS_LOOSE_NONE);
  CU_ASSERT_TRUE(ws_deque_grow(&deque));
  CU_ASSERT_EQUAL(deque.level, 1);
  ws_deque_free(&deque);
}

static void growth_takes_loose_pages_back(void)
{
  fresh(2);
  for (uint64_t i = 1; i <= 3; i++)
    put(i);
  while (take())
    ;
  ws_deque_shrink(&deque);
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.loose), WS_LOOSE_PAGES);
  put(1);
  put(2);
  CU_ASSERT_TRUE(ws_deque_grow(&deque));
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque.loose), WS_LOOSE_NONE);
  ws_deque_trim(&deque);
  CU_ASSERT_EQUAL(take(), 2);
  CU_ASSERT_EQUAL(take(), 1);
  ws_deque_free(&deque);
}

static void memo_saves_a_look_and_is_void_after_a_take(void)
{
  fresh(8);
  ws_steal_memo_t memo = {0};
  for (uint64_t i = 1; i <= 4; i++)
    put(i);
  CU_ASSERT_EQUAL(steal(&memo), 1);
  CU_ASSERT_EQUAL(memo.bottom - ws_load_relaxed(&deque.top), 3);
  CU_ASSERT_EQUAL(take(), 4); // the memo still speaks of index 4
  CU_ASSERT_EQUAL(take(), 3);
  CU_ASSERT_EQUAL(take(), 2);
  CU_ASSERT_EQUAL(steal(&memo), 0);
  put(5);
  CU_ASSERT_EQUAL(steal(&memo), 5);
  put(6);
  put(7);
  ws_steal_memo_t other = {.deque = NULL, .bottom = UINT64_MAX / 2, .takes = ws_load_relaxed(&deque.takes)};
  CU_ASSERT_EQUAL(steal(&other), 6); // of another deque: not used
  CU_ASSERT_EQUAL(steal(&other), 7);
  CU_ASSERT_EQUAL(steal(&other), 0);
}

/// A peek reads, a commit decides: a task that another thread took meanwhile is void.
static void commit_fails_when_the_task_is_gone(void)
{
  fresh(4);
  ws_steal_memo_t memo = {0}, second = {0};
  ws_task_t task;
  uint64_t index = 0;
  put(1);
  CU_ASSERT_TRUE(ws_deque_steal_peek(&deque, &memo, &task, &index));
  CU_ASSERT_EQUAL(steal(&second), 1);
  CU_ASSERT_FALSE(ws_deque_steal_commit(&deque, index));
  put(2);
  CU_ASSERT_TRUE(ws_deque_steal_peek(&deque, &memo, &task, &index));
  CU_ASSERT_EQUAL(take(), 2); // the owner's last task: taken by the same CAS
  CU_ASSERT_FALSE(ws_deque_steal_commit(&deque, index));
}

TEST_MAIN("deque", TEST_CASE(owner_takes_newest_thief_oldest),
          TEST_CASE(peek_sees_both_ends_and_takes_nothing), TEST_CASE(batch_wraps_around),
          TEST_CASE(agrees_with_a_model), TEST_CASE(growth_keeps_order_and_counts),
          TEST_CASE(shrinks_only_when_empty_and_pages_become_loose), TEST_CASE(growth_takes_loose_pages_back),
          TEST_CASE(growth_waits_for_a_trim_but_not_without_end),
          TEST_CASE(memo_saves_a_look_and_is_void_after_a_take),
          TEST_CASE(commit_fails_when_the_task_is_gone))
