// SPDX-License-Identifier: BSD-3-Clause
/// @file test_key_number.c
/// Cancel by key: what a cancel returns, and the cancel of one task.
#include <errno.h>

#include "key_scene.h"

static void a_cancel_returns_what_it_cancels(void)
{
  begin(1, WS_FULL_GROW);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
  hold();
  push(&key, TASKS, NULL);
  tell_apart();
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), TASKS);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
  ws_keyed_t more = {.key = &key, .func = test_count_task, .on_cancel = count_cancel, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &more), 0);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 1); // the caller skips all
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS + 1);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  end();
}

static void what_has_started_does_not_count(void)
{
  ws_keyed_t *first = begin_inside_task();
  push(&key, 3, NULL);
  tell_apart();
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, first), -EBUSY);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 3);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, first), -EBUSY); // has ended
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[0]), -EBUSY); // was skipped
  CU_ASSERT_EQUAL(test_value(&cancels), 3);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
  end();
}

static void one_task(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  ws_group_t group;
  ws_group_init(&group, TASKS);
  push(&key, TASKS, &group);
  tell_apart();
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[4]), 0);
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[4]), -EALREADY);
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[7]), 0);
  test_gate_let(&gate, 1);
  ws_group_wait(&group, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs), TASKS - 2);
  CU_ASSERT_EQUAL(test_value(&cancels), 2);
  CU_ASSERT_EQUAL(test_stats(pool).cancelled_tasks, 2);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(pool, &key), 2);
  CU_ASSERT_EQUAL(ws_pool_cancel_task(NULL, &tasks[0]), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, NULL), -EINVAL);
  end();
}

/// Each task is cancelled by one call.
static void one_task_and_its_key(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  push(&key, TASKS, NULL);
  tell_apart();
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[0]), 0);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), TASKS - 1);
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[1]), -EALREADY);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  CU_ASSERT_EQUAL(test_value(&runs), 0);
  end();
}

static void refused_pushes_do_not_count(void)
{
  begin(1, WS_FULL_FAIL);
  hold();
  while (ws_pool_try_push(pool, (ws_task_t){.func = test_empty_task}) == 0)
    ;
  ws_keyed_t task = {.key = &key, .func = test_count_task, .arg = &runs};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(pool, &task), -EAGAIN);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
  test_gate_let(&gate, 1);
  end();
}

static bool is_aborted(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) != WS_RUNNING; // all that an abort sets is set
}

static void *let_when_it_aborts(void *unused)
{
  test_until(is_aborted, NULL);
  test_gate_let(&gate, 1);
  return unused;
}

static void what_an_abort_skips_does_not_count(void)
{
  begin(1, WS_FULL_GROW);
  hold();
  push(&key, TASKS, NULL);
  tell_apart();
  CU_ASSERT_EQUAL(ws_pool_cancel_task(pool, &tasks[2]), 0);
  test_threads_t threads = {0};
  test_spawn(&threads, let_when_it_aborts, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_ABORT), TASKS);
  test_join(&threads);
  CU_ASSERT_EQUAL(test_value(&cancels), TASKS);
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
  end();
}

enum { JOBS = 20000, CANCELLERS = 2 };
static ws_keyed_t jobs[JOBS];
static ws_au32_t pushed;
static ws_au64_t cancelled;

static void *cancel_all(void *unused)
{
  while (ws_load_acquire(&pushed) < JOBS)
    ws_add_relaxed(&cancelled, (uint64_t)ws_pool_cancel(pool, &key));
  return unused;
}

static void *cancel_some(void *seed)
{
  uint64_t random = *(const uint64_t *)seed;
  for (uint32_t count; (count = ws_load_acquire(&pushed)) < JOBS;)
    if (count > 0 && ws_pool_cancel_task(pool, &jobs[count - 1 - test_random(&random) % count / 8]) == 0)
      ws_add_relaxed(&cancelled, 1);
  return NULL;
}

/// Pushes, starts and cancels of both kinds at once: each task that was skipped was cancelled by one call.
static void all_at_once(void)
{
  begin(2, WS_FULL_GROW);
  ws_store_relaxed(&pushed, 0);
  ws_store_relaxed(&cancelled, 0);
  test_threads_t threads = {0};
  uint64_t seeds[CANCELLERS];
  for (uint32_t i = 0; i < CANCELLERS; i++) {
    seeds[i] = test_seed() + i;
    test_spawn(&threads, cancel_all, NULL);
    test_spawn(&threads, cancel_some, &seeds[i]);
  }
  for (uint32_t i = 0; i < JOBS; i++) {
    jobs[i] = (ws_keyed_t){.key = &key, .func = test_count_task, .on_cancel = count_cancel, .arg = &runs};
    if (ws_pool_push_keyed(pool, &jobs[i]) != 0)
      ws_add_relaxed(&test_refused, 1);
    ws_add_release(&pushed, 1);
  }
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&runs) + test_value(&cancels), JOBS);
  CU_ASSERT_EQUAL(test_value(&cancels), test_value(&cancelled));
  CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
  end();
}

TEST_MAIN("key_number", TEST_CASE(a_cancel_returns_what_it_cancels),
          TEST_CASE(what_has_started_does_not_count), TEST_CASE(one_task), TEST_CASE(one_task_and_its_key),
          TEST_CASE(refused_pushes_do_not_count), TEST_CASE(what_an_abort_skips_does_not_count),
          TEST_CASE(all_at_once))
