// SPDX-License-Identifier: BSD-3-Clause
/// @file test_shared.c
/// The queue of the threads without a lane: bounds, order, laps, exactly once with several at both ends.
#include "../../../tasks/ws_shared.h"

#include <sched.h>
#include <string.h>

#include "../../support/ws_test.h"

#define TASKS (TEST_SANITIZED ? 15000u : 60000u)
#define PUSHERS 2u
#define TAKERS 2u
#define CHOOSERS 2u

static ws_shared_t shared;
static ws_shared_cell_t cells[8];
static ws_au32_t taken[PUSHERS * TASKS];
static ws_au64_t total, next_pusher;

static bool push(ws_shared_t *queue, const ws_task_t *task)
{
  uint64_t index;
  ws_shared_cell_t *cell = ws_shared_claim(queue, &index);
  if (cell)
    ws_shared_publish(cell, index, task);
  return cell;
}

static ws_task_t numbered(uint64_t number)
{
  return (ws_task_t){.func = test_empty_task, .arg = (void *)(uintptr_t)number};
}

static void empty_full_and_fifo_over_many_laps(void)
{
  ws_task_t task = numbered(0);
  ws_shared_init(&shared, cells, 4);
  for (uint64_t lap = 0; lap < 1000; lap++) {
    CU_ASSERT_FALSE_FATAL(ws_shared_take(&shared, &task));
    CU_ASSERT_FALSE_FATAL(ws_shared_visible(&shared));
    for (uint64_t i = 1; i <= 4; i++) {
      task = numbered(4 * lap + i);
      CU_ASSERT_TRUE_FATAL(push(&shared, &task));
      CU_ASSERT_TRUE_FATAL(ws_shared_visible(&shared));
      CU_ASSERT_EQUAL_FATAL(ws_shared_size(&shared), i);
    }
    CU_ASSERT_FALSE_FATAL(push(&shared, &task));
    for (uint64_t i = 1; i <= 4; i++) {
      CU_ASSERT_TRUE_FATAL(ws_shared_take(&shared, &task));
      CU_ASSERT_EQUAL_FATAL((uintptr_t)task.arg, 4 * lap + i);
    }
  }
  CU_ASSERT_EQUAL(ws_shared_size(&shared), 0);
}

static void *pusher(void *unused)
{
  (void)unused;
  const uint64_t first = ws_add_relaxed(&next_pusher, 1) * TASKS;
  for (uint64_t i = 0; i < TASKS; i++) {
    const ws_task_t task = numbered(first + i);
    while (!push(&shared, &task))
      sched_yield();
  }
  return NULL;
}

/// A task is taken from the middle, and its cell is free when the oldest have been taken.
static void from_the_middle_over_many_laps(void)
{
  ws_task_t task = numbered(0);
  ws_shared_init(&shared, cells, 4);
  for (uint64_t lap = 0; lap < 1000; lap++) {
    const uint64_t first = ws_load_relaxed(&shared.tail); // relaxed: one thread, here and below
    for (uint64_t i = 0; i < 4; i++) {
      task = numbered(first + i);
      task.priority = (ws_priority_t)(i % 3);
      task.node = (uint32_t)i;
      CU_ASSERT_TRUE_FATAL(push(&shared, &task));
    }
    const uint64_t middle = first + lap % 4;
    CU_ASSERT_EQUAL_FATAL(ws_shared_peek(&shared, middle, &task), WS_SHARED_THERE);
    CU_ASSERT_EQUAL_FATAL((uintptr_t)task.arg, middle);
    CU_ASSERT_TRUE_FATAL(task.node == lap % 4 && task.priority == lap % 4 % 3);
    CU_ASSERT_TRUE_FATAL(ws_shared_take_at(&shared, middle));
    CU_ASSERT_FALSE_FATAL(ws_shared_take_at(&shared, middle));
    CU_ASSERT_FALSE_FATAL(push(&shared, &task)); // the cell is still filled
    for (uint64_t number = first; number < first + 4; number++)
      if (number != middle) {
        CU_ASSERT_TRUE_FATAL(ws_shared_take(&shared, &task));
        CU_ASSERT_EQUAL_FATAL((uintptr_t)task.arg, number);
      }
    CU_ASSERT_EQUAL_FATAL(ws_shared_size(&shared), 0); // the cell of the middle is free, too
    CU_ASSERT_FALSE_FATAL(ws_shared_take(&shared, &task));
    CU_ASSERT_EQUAL_FATAL(ws_shared_peek(&shared, middle, &task), WS_SHARED_GONE);
    CU_ASSERT_FALSE_FATAL(ws_shared_take_at(&shared, middle));
    CU_ASSERT_EQUAL_FATAL(ws_shared_size(&shared), 0);
  }
}

/// What one taker sees of one pusher must be in that pusher's order.
static ws_au32_t disorder;

static void *taker(void *unused)
{
  (void)unused;
  uint64_t last[PUSHERS] = {0};
  while (ws_load_relaxed(&total) < PUSHERS * TASKS) {
    ws_task_t task;
    if (!ws_shared_take(&shared, &task)) {
      sched_yield();
      continue;
    }
    const uint64_t number = (uintptr_t)task.arg;
    ws_add_relaxed(&taken[number], 1);
    ws_add_relaxed(&total, 1);
    if (number % TASKS + 1 <= last[number / TASKS])
      ws_add_relaxed(&disorder, 1);
    last[number / TASKS] = number % TASKS + 1;
  }
  return NULL;
}

/// Takes each third task, wherever it lies.
static void *chooser(void *unused)
{
  (void)unused;
  while (ws_load_relaxed(&total) < PUSHERS * TASKS) {
    const uint64_t tail = ws_load_relaxed(&shared.tail); // relaxed: a later look finds what this one misses
    for (uint64_t i = ws_load_relaxed(&shared.head); (int64_t)(tail - i) > 0; i++) { // relaxed: as tail
      ws_task_t task;
      if (ws_shared_peek(&shared, i, &task) != WS_SHARED_THERE || (uintptr_t)task.arg % 3 != 0
          || !ws_shared_take_at(&shared, i))
        continue;
      ws_shared_pass(&shared);
      ws_add_relaxed(&taken[(uintptr_t)task.arg], 1);
      ws_add_relaxed(&total, 1);
    }
    sched_yield();
  }
  return NULL;
}

static void several_at_both_ends_exactly_once(void)
{
  ws_shared_init(&shared, cells, 8);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < PUSHERS; i++)
    test_spawn(&threads, pusher, NULL);
  for (uint32_t i = 0; i < TAKERS; i++)
    test_spawn(&threads, taker, NULL);
  for (uint32_t i = 0; i < CHOOSERS; i++)
    test_spawn(&threads, chooser, NULL);
  test_join(&threads);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < PUSHERS * TASKS; i++)
    wrong += ws_load_relaxed(&taken[i]) != 1;
  CU_ASSERT_EQUAL(wrong, 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&disorder), 0);
  ws_task_t task;
  CU_ASSERT_FALSE(ws_shared_take(&shared, &task)); // passes the cells whose task was taken from the middle
  CU_ASSERT_EQUAL(ws_shared_size(&shared), 0);
}

TEST_MAIN("shared", TEST_CASE(empty_full_and_fifo_over_many_laps), TEST_CASE(from_the_middle_over_many_laps),
          TEST_CASE(several_at_both_ends_exactly_once))
