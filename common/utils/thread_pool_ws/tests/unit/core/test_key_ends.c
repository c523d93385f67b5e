// SPDX-License-Identifier: BSD-3-Clause
/// @file test_key_ends.c
/// Cancel by key: waits in on_cancel, and more cancels than a key has words.
#include <errno.h>

#include "../../../include/ws_key.h"
#include "../../support/ws_test.h"

enum { TASKS = 10 };

static ws_pool_t *pool;
static test_gate_t gate;
static ws_key_t key;
static ws_au64_t runs, cancels;

/// A worker inside a task, until the gate is open.
static void begin(void)
{
  pool = test_pool(1);
  test_gate_init(&gate);
  ws_key_init(&key);
  ws_store_relaxed(&runs, 0);
  ws_store_relaxed(&cancels, 0);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
}

static void end(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static void *abort_pool(void *skipped)
{
  *(int64_t *)skipped = ws_pool_stop(pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) != WS_RUNNING; // all that an abort sets is set
}

static void *cancel_and_wait(void *result)
{
  *(int64_t *)result = ws_pool_cancel_wait(pool, &key);
  return NULL;
}

static bool is_cancelled(void *epoch)
{
  return __atomic_load_n(&key.live, __ATOMIC_ACQUIRE) >> 32 >= *(const uint64_t *)epoch;
}

static ws_au32_t outside_a_task, not_refused;

static void look_around(void *unused)
{
  if (!ws_current_task())
    ws_add_relaxed(&outside_a_task, 1);
  if (ws_pool_cancel_wait(pool, &key) != -EDEADLK || ws_pool_wait(pool) != -EDEADLK)
    ws_add_relaxed(&not_refused, 1);
  (void)unused;
  test_count_task(&cancels);
}

static bool a_thread_waits(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->waiters) > 0;
}

/// on_cancel is inside a task on each thread that calls it: a wait there would wait for itself.
static void on_cancel_cannot_wait(void)
{
  for (uint32_t round = 0; round < 3; round++) { // the worker skips, or the stopping thread; a cancel
    begin();
    ws_keyed_t tasks[TASKS];
    for (uint32_t i = 0; i < TASKS; i++) {
      tasks[i] = (ws_keyed_t){.key = &key, .func = test_count_task, .on_cancel = look_around, .arg = &runs};
      CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &tasks[i]), 0);
    }
    int64_t skipped = 0;
    test_threads_t threads = {0};
    if (round == 2)
      ws_pool_cancel(pool, &key);
    else
      test_spawn(&threads, abort_pool, &skipped);
    CU_ASSERT_TRUE(round == 2 || test_until(is_aborted, NULL));
    CU_ASSERT_TRUE(round != 1 || test_until(a_thread_waits, NULL)); // it has skipped them by now
    test_gate_let(&gate, 1);
    test_join(&threads);
    CU_ASSERT_TRUE(round != 2 || ws_pool_wait(pool) == 0);
    CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
    CU_ASSERT_EQUAL(skipped, round == 2 ? 0 : TASKS);
    CU_ASSERT_EQUAL(ws_load_relaxed(&outside_a_task), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&not_refused), 0);
    end();
  }
}

/// Two cancels share a word of the key, and tasks of both are queued: the later one's number is right, though
/// its task goes first.
static void an_early_cancel_does_not_take_the_count_of_a_later_one(void)
{
  begin();
  ws_keyed_t early = {.key = &key, .func = test_count_task, .arg = &runs, .priority = WS_PRIORITY_LOW};
  ws_keyed_t late = early;
  late.priority = WS_PRIORITY_HIGH;
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &early), 0);
  for (uint32_t i = 0; i < WS_KEY_EPOCHS; i++)
    ws_pool_cancel(pool, &key);
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &late), 0);
  int64_t result = 0;
  test_threads_t threads = {0};
  test_spawn(&threads, cancel_and_wait, &result);
  CU_ASSERT_TRUE(test_until(is_cancelled, &(uint64_t){WS_KEY_EPOCHS + 1}));
  test_gate_let(&gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(result, 1);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  end();
}

TEST_MAIN("key_ends", TEST_CASE(on_cancel_cannot_wait),
          TEST_CASE(an_early_cancel_does_not_take_the_count_of_a_later_one))
