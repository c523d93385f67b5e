// SPDX-License-Identifier: BSD-3-Clause
/// @file test_task_ans_trust.c
/// Which functions a join from outside may help with: those that were seen to complete the answer which their
/// thread had armed last. What a task runs as is the test's (--wrap).
#include "../../shim/oai_task_counter/task_ans_trust.h"
#include "../support/ws_test.h"

static _Thread_local const ws_task_t *current;

TEST_WRAP(const ws_task_t *, ws_current_task, (void))
{
  return current;
}

static uint64_t answer[4];

/// Functions are numbers here: they are compared, never called.
static void (*function(uintptr_t number))(void *)
{
  return (void (*)(void *))(0x10000 + 16 * number);
}

typedef enum { NO_TASK, NO_TAG, STRONG, WEAK } tag_t;

/// A task of the function, pushed when @p tagged was armed, completes @p completed @p times times, while its
/// thread has armed @p own.
static void runs(uintptr_t number, tag_t tag, uint32_t tagged, uint32_t completed, uint32_t times,
                 const void *own)
{
  ws_group_t *const groups[] = {NULL, NULL, ws_group_tag(&answer[tagged]),
                                ws_group_weak_tag(&answer[tagged])};
  const ws_task_t task = {.func = function(number), .group = groups[tag]};
  current = tag == NO_TASK ? NULL : &task;
  for (uint32_t i = 0; i < times; i++)
    ws_tpool_judge(&answer[completed], own);
  current = NULL;
}

static const struct {
  uintptr_t number;
  tag_t tag;
  uint32_t tagged, completed, times;
  bool is_own; ///< the task has armed what it completes, and completes a part by hand: that proves nothing
  bool trusted; ///< afterwards
} rows[] = {
    {1, WEAK, 0, 0, 7, false, false}, // trust is earned
    {1, WEAK, 1, 1, 1, false, true},     {1, STRONG, 0, 0, 100, false, true},
    {2, WEAK, 0, 0, 0, false, false},    {3, WEAK, 0, 0, 8, false, true},
    {3, STRONG, 0, 1, 1, false, false}, // one wrong answer ends it
    {3, WEAK, 0, 0, 100, false, false},  {4, WEAK, 0, 1, 1, false, false},
    {4, WEAK, 0, 0, 100, false, false},  {5, WEAK, 0, 0, 8, false, true},
    {5, STRONG, 0, 2, 1, true, true},    {6, NO_TASK, 0, 0, 20, false, false},
    {6, NO_TAG, 0, 0, 20, false, false},
};

TEST_CASE(trust_is_earned_and_lost)
{
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const void *own = rows[i].is_own ? &answer[rows[i].completed] : NULL;
    runs(rows[i].number, rows[i].tag, rows[i].tagged, rows[i].completed, rows[i].times, own);
    if (ws_tpool_trusts(function(rows[i].number)) != rows[i].trusted)
      printf("\n  rows[%u] ", i);
    CU_ASSERT_EQUAL(ws_tpool_trusts(function(rows[i].number)), rows[i].trusted);
  }
}

static void *many_run(void *unused)
{
  for (uint32_t i = 0; i < 10000; i++) {
    runs(7, WEAK, 0, 0, 1, NULL);
    runs(8, WEAK, 0, i % 100 == 99, 1, NULL);
  }
  return unused;
}

TEST_CASE(several_threads)
{
  test_in_threads(4, many_run, NULL);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(7)));
  CU_ASSERT_FALSE(ws_tpool_trusts(function(8)));
}

TEST_CASE(functions_beyond_the_table_are_not_trusted)
{
  uint32_t trusted = 0;
  for (uintptr_t number = 100; number < 300; number++) {
    runs(number, WEAK, 0, 0, 8, NULL);
    trusted += ws_tpool_trusts(function(number));
  }
  CU_ASSERT_TRUE(trusted > 0 && trusted <= 64);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(1)));
}

TEST_MAIN("task_ans_trust")
