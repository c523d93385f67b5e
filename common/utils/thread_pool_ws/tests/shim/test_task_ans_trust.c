// SPDX-License-Identifier: BSD-3-Clause
/// @file test_task_ans_trust.c
/// Which functions a join from outside may help with: those that were seen to complete the answer which their
/// thread had armed last. What a task runs as is the test's (--wrap).
#include "../../shim/oai_task_counter/task_ans_trust.h"
#include "../support/ws_test.h"

const ws_task_t *__wrap_ws_current_task(void);

static _Thread_local const ws_task_t *current;

const ws_task_t *__wrap_ws_current_task(void)
{
  return current;
}

static uint64_t answer[4];

/// Functions are numbers here: they are compared, never called. Each test uses its own.
static void (*function(uintptr_t number))(void *)
{
  return (void (*)(void *))(0x10000 + 16 * number);
}

/// A task of the function, pushed when @p tagged was armed, completes @p completed @p times times.
static void runs(uintptr_t number, const void *tagged, bool weak, const void *completed, uint32_t times)
{
  const ws_task_t task = {
      .func = function(number),
      .group = weak ? ws_group_weak_tag(tagged) : ws_group_tag(tagged),
  };
  current = &task;
  for (uint32_t i = 0; i < times; i++)
    ws_tpool_judge(completed, NULL);
  current = NULL;
}

static void trust_is_earned(void)
{
  CU_ASSERT_FALSE(ws_tpool_trusts(function(1)));
  runs(1, &answer[0], true, &answer[0], 7);
  CU_ASSERT_FALSE(ws_tpool_trusts(function(1)));
  runs(1, &answer[1], true, &answer[1], 1);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(1)));
  runs(1, &answer[0], false, &answer[0], 100);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(1)));
  CU_ASSERT_FALSE(ws_tpool_trusts(function(2)));
}

static void one_wrong_answer_ends_it(void)
{
  runs(3, &answer[0], true, &answer[0], 8);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(3)));
  runs(3, &answer[0], false, &answer[1], 1);
  CU_ASSERT_FALSE(ws_tpool_trusts(function(3)));
  runs(3, &answer[0], true, &answer[0], 100);
  CU_ASSERT_FALSE(ws_tpool_trusts(function(3)));
  runs(4, &answer[0], true, &answer[1], 1);
  runs(4, &answer[0], true, &answer[0], 100);
  CU_ASSERT_FALSE(ws_tpool_trusts(function(4)));
}

/// A task that arms an answer of its own, pushes for it and completes a part by hand.
static void own_answers_prove_nothing(void)
{
  runs(5, &answer[0], true, &answer[0], 8);
  const ws_task_t task = {.func = function(5), .group = ws_group_tag(&answer[0])};
  current = &task;
  ws_tpool_judge(&answer[2], &answer[2]);
  current = NULL;
  CU_ASSERT_TRUE(ws_tpool_trusts(function(5)));
}

static void without_task_or_tag_nothing_happens(void)
{
  const ws_task_t untagged = {.func = function(6)};
  for (uint32_t i = 0; i < 20; i++) {
    ws_tpool_judge(&answer[0], NULL);
    current = &untagged;
    ws_tpool_judge(&answer[0], NULL);
    current = NULL;
  }
  CU_ASSERT_FALSE(ws_tpool_trusts(function(6)));
}

static void functions_beyond_the_table_are_not_trusted(void)
{
  uint32_t trusted = 0;
  for (uintptr_t number = 100; number < 300; number++) {
    runs(number, &answer[0], true, &answer[0], 8);
    trusted += ws_tpool_trusts(function(number));
  }
  CU_ASSERT_TRUE(trusted > 0 && trusted <= 64);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(1)));
}

static void *many_run(void *unused)
{
  for (uint32_t i = 0; i < 10000; i++) {
    runs(7, &answer[0], true, &answer[0], 1);
    runs(8, &answer[0], true, &answer[i % 100 == 99], 1);
  }
  return unused;
}

static void several_threads(void)
{
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < 4; i++)
    test_spawn(&threads, many_run, NULL);
  test_join(&threads);
  CU_ASSERT_TRUE(ws_tpool_trusts(function(7)));
  CU_ASSERT_FALSE(ws_tpool_trusts(function(8)));
}

TEST_MAIN("task_ans_trust", TEST_CASE(trust_is_earned), TEST_CASE(one_wrong_answer_ends_it),
          TEST_CASE(own_answers_prove_nothing), TEST_CASE(without_task_or_tag_nothing_happens),
          TEST_CASE(several_threads), TEST_CASE(functions_beyond_the_table_are_not_trusted))
