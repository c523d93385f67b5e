// SPDX-License-Identifier: BSD-3-Clause
/// @file test_key_wait.c
/// Cancel by key: which tasks a cancel that waits waits for, and which it skips itself.
#include "key_scene.h"

typedef struct {
  int64_t result;
  ws_au32_t ended;
} waiter_t;

static void *cancel_and_wait(void *waiter_arg)
{
  waiter_t *waiter = waiter_arg;
  waiter->result = ws_pool_cancel_wait(pool, &key);
  ws_store_release(&waiter->ended, 1);
  return NULL;
}

/// @return whether the waiter has ended, or sleeps until the tasks of some epoch are gone
static bool has_ended_or_sleeps(void *waiter_arg)
{
  waiter_t *waiter = waiter_arg;
  bool sleeps = false;
  for (uint32_t i = 0; i < WS_KEY_EPOCHS; i++)
    sleeps |= __atomic_load_n(&key.queued[i].word, __ATOMIC_ACQUIRE) % 2 == 1; // bit 0: a thread sleeps
  return sleeps || ws_load_acquire(&waiter->ended);
}

/// A wait after cancels that did not wait, and whose task is still queued.
static void a_wait_covers_earlier_cancels(void)
{
  for (uint32_t cancelled = 1; cancelled < WS_KEY_EPOCHS + 2; cancelled++) {
    begin(1, WS_FULL_GROW);
    hold();
    push(&key, 1, NULL);
    tell_apart();
    for (uint32_t i = 0; i < cancelled; i++)
      ws_pool_cancel(pool, &key);
    waiter_t waiter = {0};
    test_threads_t threads = {0};
    test_spawn(&threads, cancel_and_wait, &waiter);
    CU_ASSERT_TRUE(test_until(has_ended_or_sleeps, &waiter));
    CU_ASSERT_EQUAL(ws_load_acquire(&waiter.ended), 0);
    test_gate_let(&gate, 1);
    test_join(&threads);
    CU_ASSERT_EQUAL(test_value(&cancels), 1);
    end();
  }
}

/// The only worker is busy until the wait is over: the caller skips what it has pushed itself.
static void a_wait_skips_the_callers_own_tasks(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  ws_group_t group;
  ws_group_init(&group, TASKS);
  ws_au64_t others = {0};
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, test_count_task, &others, NULL);
  push(&key, TASKS, &group);
  tell_apart();
  for (uint32_t i = 0; i < 3; i++)
    test_push(pool, test_count_task, &others, NULL);
  ws_pool_cancel(pool, &key);
  ws_keyed_t later = {.key = &key, .func = test_count_task, .on_cancel = count_cancel, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &later), 0);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 1);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS + 1);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(test_value(&others), 0);
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 6);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&others), 6);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  end();
}

/// A wait does not wait for a task that is pushed after its call.
static void a_wait_leaves_out_later_tasks(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  push(&key, 1, NULL);
  tell_apart();
  waiter_t waiter = {0};
  test_threads_t threads = {0};
  test_spawn(&threads, cancel_and_wait, &waiter);
  CU_ASSERT_TRUE(test_until(has_ended_or_sleeps, &waiter));
  test_push(pool, test_gate_task, &gate, NULL);
  ws_keyed_t later = {.key = &key, .func = test_count_task, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &later), 0);
  test_gate_let(&gate, 1);
  test_join(&threads); // the later task is behind the second one that stands in the gate
  CU_ASSERT_EQUAL(waiter.result, 1);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs), 1);
  end();
}

TEST_MAIN("key_wait", TEST_CASE(a_wait_covers_earlier_cancels), TEST_CASE(a_wait_skips_the_callers_own_tasks),
          TEST_CASE(a_wait_leaves_out_later_tasks))
