// SPDX-License-Identifier: BSD-3-Clause
/// @file test_push.c
/// Pushing: what a full queue does under each policy, batches, memory that grows and comes back, no workers
/// at all.
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>

#include "../../support/ws_test.h"

typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_au64_t count;
} held_t;

/// A pool with one worker, and that one held.
static void hold(held_t *held, ws_full_t full, uint32_t capacity)
{
  ws_settings_t settings = test_settings(1);
  settings.full = full;
  settings.queue_capacity = capacity;
  *held = (held_t){0};
  test_gate_init(&held->gate);
  held->pool = test_create(&settings);
  test_push(held->pool, test_gate_task, &held->gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&held->gate, 1));
}

static void let_go(held_t *held, uint64_t expected)
{
  test_gate_let(&held->gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(held->pool), 0);
  CU_ASSERT_EQUAL(test_value(&held->count), expected);
  CU_ASSERT_EQUAL(test_stats(held->pool).queued_tasks, 0);
  test_destroy(held->pool);
  test_gate_destroy(&held->gate);
}

static ws_task_t counting(held_t *held)
{
  return (ws_task_t){.func = test_count_task, .arg = &held->count};
}

static void full_queue_grows(void)
{
  held_t held;
  hold(&held, WS_FULL_GROW, 2);
  for (uint32_t i = 0; i < 1000; i++)
    test_push(held.pool, test_count_task, &held.count, NULL);
  const ws_stats_t stats = test_stats(held.pool);
  CU_ASSERT_EQUAL(stats.queued_tasks, 1000);
  CU_ASSERT_EQUAL(stats.outside.growths, 9);
  CU_ASSERT_EQUAL(stats.queue_bytes, 1024 * sizeof(ws_cell_t));
  CU_ASSERT_TRUE(stats.outside.high_water_tasks <= 1000 && stats.outside.high_water_tasks >= 875);
  CU_ASSERT_EQUAL(test_value(&held.count), 0);
  let_go(&held, 1000);
}

static void full_queue_runs_inline(void)
{
  held_t held;
  hold(&held, WS_FULL_INLINE, 2);
  for (uint32_t i = 0; i < 100; i++)
    test_push(held.pool, test_count_task, &held.count, NULL);
  CU_ASSERT_EQUAL(test_value(&held.count), 98);
  CU_ASSERT_EQUAL(test_stats(held.pool).outside.inline_tasks, 98);
  let_go(&held, 100);
}

static void full_queue_refuses(void)
{
  held_t held;
  hold(&held, WS_FULL_FAIL, 2);
  ws_group_t group;
  ws_group_init(&group, 3);
  for (uint32_t i = 0; i < 2; i++)
    test_push(held.pool, test_count_task, &held.count, &group);
  ws_task_t third = counting(&held);
  third.group = &group;
  CU_ASSERT_EQUAL(ws_pool_push(held.pool, third), -EAGAIN);
  test_gate_let(&held.gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(held.pool), 0);
  CU_ASSERT_FALSE(ws_group_done(&group)); // the refused task's unit is still the caller's
  ws_group_complete(&group, 1);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(ws_pool_push(held.pool, counting(&held)), 0);
  test_gate_let(&held.gate, 1);
  let_go(&held, 3);
}

static void try_push_never_grows_nor_runs(void)
{
  for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_FAIL; full++) {
    held_t held;
    hold(&held, (ws_full_t)full, 4);
    for (uint32_t i = 0; i < 4; i++)
      CU_ASSERT_EQUAL(ws_pool_try_push(held.pool, counting(&held)), 0);
    CU_ASSERT_EQUAL(ws_pool_try_push(held.pool, counting(&held)), -EAGAIN);
    CU_ASSERT_EQUAL(test_value(&held.count), 0);
    CU_ASSERT_EQUAL(test_stats(held.pool).queue_bytes, 0);
    let_go(&held, 4);
  }
}

static void batch_under_each_policy(void)
{
  for (uint32_t full = WS_FULL_GROW; full <= WS_FULL_FAIL; full++) {
    held_t held;
    hold(&held, (ws_full_t)full, 8);
    ws_task_t tasks[50];
    for (uint32_t i = 0; i < 50; i++)
      tasks[i] = counting(&held);
    CU_ASSERT_EQUAL(ws_pool_push_batch(held.pool, tasks, 0), 0);
    CU_ASSERT_EQUAL(ws_pool_push_batch(held.pool, tasks, 5), 5);
    const int64_t expected = full == WS_FULL_FAIL ? 3 : 45;
    CU_ASSERT_EQUAL(ws_pool_push_batch(held.pool, tasks, 45), expected);
    CU_ASSERT_EQUAL(test_value(&held.count), full == WS_FULL_INLINE ? 42 : 0);
    if (full == WS_FULL_FAIL)
      CU_ASSERT_EQUAL(ws_pool_push_batch(held.pool, tasks, 7), 0);
    let_go(&held, (uint64_t)expected + 5);
  }
}

static bool has_no_extra_memory(void *pool)
{
  return test_stats(pool).queue_bytes == 0;
}

static bool has_no_loose_pages(void *pool_arg)
{
  struct ws_pool_s *pool = pool_arg;
  for (uint32_t i = 0; i < ws_queue_count(&pool->tasks); i++)
    if (ws_load_relaxed(&pool->tasks.queue[i]->deque.loose) != WS_LOOSE_NONE)
      return false;
  return true;
}

static void push_many(ws_pool_t *pool, ws_group_t *group)
{
  ws_group_init(group, 3000);
  for (uint32_t i = 0; i < 3000; i++)
    test_push(pool, test_empty_task, NULL, group);
}

static void push_many_and_join(void *pool)
{
  ws_group_t group;
  push_many(pool, &group);
  ws_group_wait(&group, pool);
}

/// Grown lanes and grown workers' queues shrink when they are idle, their pages go back to the kernel, and
/// all grows again.
static void grown_memory_comes_back(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 2;
  ws_pool_t *pool = test_create(&settings);
  for (uint32_t round = 0; round < 3; round++) {
    ws_group_t group;
    ws_group_init(&group, 1);
    push_many_and_join(pool);
    test_push(pool, push_many_and_join, pool, &group);
    ws_group_wait(&group, NULL);
    CU_ASSERT_TRUE(TEST_SUM(pool, growths) >= 2);
    CU_ASSERT_TRUE(test_until(has_no_extra_memory, pool));
    CU_ASSERT_TRUE(test_until(has_no_loose_pages, pool));
  }
  test_destroy(pool);
}

static bool is_done(void *group)
{
  return ws_group_done(group);
}

/// The workers are so quick that the join finds nothing to wait for.
static void memory_comes_back_though_all_was_done(void)
{
  held_t held;
  hold(&held, WS_FULL_GROW, 2);
  ws_group_t group;
  ws_group_init(&group, 500);
  for (uint32_t i = 0; i < 500; i++)
    test_push(held.pool, test_count_task, &held.count, &group);
  test_gate_let(&held.gate, 1);
  CU_ASSERT_TRUE(test_until(is_done, &group));
  CU_ASSERT_TRUE(test_stats(held.pool).queue_bytes > 0);
  ws_group_wait(&group, held.pool);
  CU_ASSERT_EQUAL(test_stats(held.pool).queue_bytes, 0);
  CU_ASSERT_TRUE(test_until(has_no_loose_pages, held.pool));
  let_go(&held, 500);
}

/// A thread that pushes, and never waits in the pool. The worker is inside a task at each push, so the queue
/// is empty before the push and holds a task after it.
static void memory_comes_back_without_a_wait(uint32_t batch)
{
  held_t held;
  hold(&held, WS_FULL_GROW, 2);
  for (uint32_t i = 0; i < 500; i++)
    test_push(held.pool, test_count_task, &held.count, NULL);
  CU_ASSERT_TRUE(test_stats(held.pool).queue_bytes > 0);
  const ws_task_t pair[2] = {{.func = test_empty_task}, {.func = test_gate_task, .arg = &held.gate}};
  for (uint32_t i = 0; i < 1100; i++) {
    CU_ASSERT_EQUAL_FATAL(ws_pool_push_batch(held.pool, pair + 2 - batch, batch), batch);
    test_gate_let(&held.gate, 1);
    CU_ASSERT_TRUE_FATAL(test_gate_await(&held.gate, 1));
  }
  CU_ASSERT_EQUAL(test_stats(held.pool).queue_bytes, 0);
  let_go(&held, 500);
}

static void memory_comes_back_to_a_thread_that_only_pushes(void)
{
  memory_comes_back_without_a_wait(1);
  memory_comes_back_without_a_wait(2);
}

/// The lane becomes loose when its thread joins last, with all workers parked long before.
static void memory_comes_back_though_all_are_parked(void)
{
  held_t held;
  hold(&held, WS_FULL_GROW, 2);
  ws_group_t group;
  ws_group_init(&group, 501);
  for (uint32_t i = 0; i < 500; i++)
    test_push(held.pool, test_count_task, &held.count, &group);
  test_gate_let(&held.gate, 1);
  CU_ASSERT_TRUE(test_until_quiet(held.pool));
  ws_group_complete(&group, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(held.pool), 0); // nothing to wait for; the lane is empty and grown
  CU_ASSERT_TRUE(test_until(has_no_extra_memory, held.pool));
  CU_ASSERT_TRUE(test_until(has_no_loose_pages, held.pool));
  let_go(&held, 500);
}

/// Without a guard's thread the worker gives the pages back when it parks.
static int memory_comes_back_on_one_cpu(void *unused)
{
  (void)unused;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET((size_t)sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
  held_t held;
  hold(&held, WS_FULL_GROW, 2);
  bool good = !held.pool->guarded && !held.pool->watched;
  for (uint32_t i = 0; i < 500; i++)
    test_push(held.pool, test_count_task, &held.count, NULL);
  test_gate_let(&held.gate, 1);
  good &= ws_pool_wait(held.pool) == 0 && TEST_SUM(held.pool, growths) > 0;
  good &= test_until(has_no_extra_memory, held.pool) && test_until(has_no_loose_pages, held.pool);
  let_go(&held, 500);
  return good ? 0 : 1;
}

static void memory_comes_back_without_a_guard(void)
{
  CU_ASSERT_EQUAL(test_in_child(memory_comes_back_on_one_cpu, NULL), 0);
}

static void no_workers_run_inline(void)
{
  ws_pool_t *pool = test_pool(0);
  ws_au64_t count = {0};
  ws_group_t group;
  ws_group_init(&group, 3);
  for (uint32_t i = 0; i < 3; i++) {
    test_push(pool, test_count_task, &count, &group);
    CU_ASSERT_EQUAL(test_value(&count), i + 1);
  }
  CU_ASSERT_TRUE(ws_group_done(&group));
  ws_group_wait(&group, pool);
  ws_task_t tasks[4];
  for (uint32_t i = 0; i < 4; i++)
    tasks[i] = (ws_task_t){.func = test_count_task, .arg = &count};
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, 4), 4);
  CU_ASSERT_EQUAL(ws_pool_try_push(pool, tasks[0]), 0);
  CU_ASSERT_EQUAL(test_value(&count), 8);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_stats(pool).outside.inline_tasks, 8);
  CU_ASSERT_EQUAL(test_stats(pool).workers, 0);
  test_destroy(pool);
}

TEST_MAIN("push", TEST_CASE(full_queue_grows), TEST_CASE(full_queue_runs_inline),
          TEST_CASE(full_queue_refuses), TEST_CASE(try_push_never_grows_nor_runs),
          TEST_CASE(batch_under_each_policy), TEST_CASE(grown_memory_comes_back),
          TEST_CASE(memory_comes_back_though_all_was_done),
          TEST_CASE(memory_comes_back_though_all_are_parked), TEST_CASE(memory_comes_back_without_a_guard),
          TEST_CASE(memory_comes_back_to_a_thread_that_only_pushes), TEST_CASE(no_workers_run_inline))
