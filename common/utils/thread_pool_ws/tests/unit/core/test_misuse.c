// SPDX-License-Identifier: BSD-3-Clause
/// @file test_misuse.c
/// What the public functions do with NULL, with counts beyond the range, and with stacks that are too small:
/// an error, or the end of the process with a message, but no crash and no hang.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "../../../include/ws_trace.h"
#include "../../support/ws_death.h"
#include "../../support/ws_test.h"

static void settings_that_are_null(void)
{
  ws_settings_t settings = test_settings(1);
  ws_pool_t *pool = (void *)&pool; // must be set to NULL
  CU_ASSERT_EQUAL(ws_pool_create(NULL, &settings), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_create(&pool, NULL), -EINVAL);
  CU_ASSERT_PTR_NULL(pool);
  ws_settings_default(NULL);
  ws_settings_environment(NULL);
  CU_ASSERT_EQUAL(ws_settings_spin_text(NULL, "auto"), -EINVAL);
  CU_ASSERT_EQUAL(ws_settings_spin_cpu_max_text(NULL, "10"), -EINVAL);
  CU_ASSERT_EQUAL(test_warnings.count, 0);
}

static void texts_that_are_null(void)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_AUTO;
  CU_ASSERT_EQUAL(ws_settings_spin_text(&settings, NULL), -EINVAL);
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_OFF);
  settings.spin = WS_SPIN_AUTO;
  CU_ASSERT_EQUAL(ws_settings_spin_cpu_max_text(&settings, NULL), -EINVAL);
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_OFF);
  CU_ASSERT_EQUAL(settings.spin_cpu_max_percent, 0);
  CU_ASSERT_EQUAL(test_warnings.count, 2);
}

static void tasks_without_a_function(void)
{
  ws_au64_t count = {0};
  const ws_task_t none = {.func = NULL, .arg = &count};
  const ws_task_t two[2] = {{.func = test_count_task, .arg = &count}, none};
  for (uint32_t workers = 0; workers <= 1; workers++) {
    ws_pool_t *pool = test_pool(workers);
    CU_ASSERT_EQUAL(ws_pool_push(pool, none), -EINVAL);
    CU_ASSERT_EQUAL(ws_pool_try_push(pool, none), -EINVAL);
    CU_ASSERT_EQUAL(ws_pool_push_batch(pool, two, 2), -EINVAL);
    CU_ASSERT_EQUAL(ws_pool_push_batch(pool, NULL, 1), -EINVAL);
    CU_ASSERT_EQUAL(ws_pool_push_batch(pool, NULL, 0), 0);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(test_value(&count), 0);
    CU_ASSERT_EQUAL(ws_pool_stop(pool, (ws_stop_t)(WS_STOP_ABORT + 1)), -EINVAL);
    test_destroy(pool);
  }
  ws_trace_run(NULL, NULL);
}

static void pools_that_are_null(void)
{
  const ws_task_t task = {.func = test_empty_task};
  CU_ASSERT_EQUAL(ws_pool_push(NULL, task), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_try_push(NULL, task), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_push_batch(NULL, &task, 1), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_wait(NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_stop(NULL, WS_STOP_DRAIN), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin(NULL, WS_SPIN_OFF, 0), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(NULL, 1), -EINVAL);
}

static void statistics_without_a_pool(void)
{
  ws_pool_t *pool = test_pool(1);
  ws_stats_t stats = {0};
  ws_worker_stats_t worker;
  CU_ASSERT_EQUAL(ws_pool_stats(pool, NULL, &worker, 1), 0);
  CU_ASSERT_EQUAL(ws_pool_stats(NULL, &stats, &worker, 1), 0);
  CU_ASSERT_EQUAL(ws_pool_stats(pool, &stats, NULL, 1), 0);
  CU_ASSERT_EQUAL(stats.workers, 1);
  ws_pool_prewake_stats(pool, NULL);
  ws_pool_report(pool, NULL, NULL);
  test_destroy(pool);
}

static int init_too_many(void *unused)
{
  (void)unused;
  ws_group_t group;
  ws_group_init(&group, WS_GROUP_UNITS_MAX + 1u);
  return 0;
}

/// @param units_arg  the group's units, and those that are added
static int add_too_many(void *units_arg)
{
  const uint32_t *units = units_arg;
  ws_group_t group;
  ws_group_init(&group, units[0]);
  ws_group_add(&group, units[1]);
  return 0;
}

static int complete_too_many(void *units_arg)
{
  const uint32_t *units = units_arg;
  ws_group_t group;
  ws_group_init(&group, units[0]);
  ws_group_complete(&group, units[1]);
  return 0;
}

/// Counts that overflow must not look small: a group would be done, and its waiter never wake.
static void groups_beyond_their_range(void)
{
  static uint32_t added[][2] = {{1, UINT32_MAX}, {0, UINT32_MAX},          {1000, 0u - 1000},
                                {7, 1u << 31},   {WS_GROUP_UNITS_MAX, 1u}, {5, 1u << 30}};
  static uint32_t completed[][2] = {{1, 2}, {0, 1}, {5, 0x80000001u}, {1, UINT32_MAX}};
  CU_ASSERT_EQUAL(test_in_child(init_too_many, NULL), 128 + SIGABRT);
  for (uint32_t i = 0; i < TEST_COUNT(added); i++)
    CU_ASSERT_EQUAL(test_in_child(add_too_many, added[i]), 128 + SIGABRT);
  for (uint32_t i = 0; i < TEST_COUNT(completed); i++)
    CU_ASSERT_EQUAL(test_in_child(complete_too_many, completed[i]), 128 + SIGABRT);
}

static void init_group_too_large(void)
{
  ws_group_init(&(ws_group_t){0}, WS_GROUP_UNITS_MAX + 1u);
}

static void add_to_full_group(void)
{
  ws_group_t group;
  ws_group_init(&group, WS_GROUP_UNITS_MAX);
  ws_group_add(&group, 1);
}

static void add_far_too_many(void)
{
  ws_group_t group;
  ws_group_init(&group, 5);
  ws_group_add(&group, UINT32_MAX);
}

static void complete_twice(void)
{
  ws_group_t group;
  ws_group_init(&group, 1);
  ws_group_complete(&group, 1);
  ws_group_complete(&group, 1);
}

static void await_nothing(void)
{
  ws_pool_await(NULL, NULL, NULL);
}

static void *stop_it(void *pool)
{
  ws_pool_stop(pool, WS_STOP_DRAIN);
  return NULL;
}

/// The other thread's stop waits for a task that stands in a gate.
static void destroy_while_it_stops(void)
{
  test_gate_t gate;
  test_gate_init(&gate);
  ws_pool_t *pool = test_pool(1);
  test_push(pool, test_gate_task, &gate, NULL);
  test_gate_await(&gate, 1);
  pthread_t thread;
  pthread_create(&thread, NULL, stop_it, pool);
  while (ws_pool_push(pool, (ws_task_t){.func = test_empty_task}) != -ECANCELED)
    sched_yield();
  ws_pool_destroy(pool);
}

static void messages_name_the_call(void)
{
  CU_ASSERT(dies_with(init_group_too_large, "ws_group_init(): 1073741824 units on top of 0"));
  CU_ASSERT(dies_with(add_to_full_group, "ws_group_add(): 1 units on top of 1073741823"));
  CU_ASSERT(dies_with(add_far_too_many, "ws_group_add(): 4294967295 units on top of 5"));
  CU_ASSERT(dies_with(complete_twice, "ws_group_complete(): 1 to complete, but the group waits for 0"));
  CU_ASSERT(dies_with(await_nothing, "ws_pool_await(): event, its ready or its sleep is NULL"));
  CU_ASSERT(dies_with(destroy_while_it_stops, "ws_pool_destroy(): a ws_pool_stop() of the pool is not over"));
}

static int create_with_stack(void *bytes)
{
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  // 64-bit ARM: the C library wants 128 KiB
  if (pthread_attr_setstacksize(&attr, *(const size_t *)bytes) != 0 || pthread_setattr_default_np(&attr) != 0)
    return TEST_CHILD_SKIP;
  const ws_settings_t settings = test_settings(2);
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) == -EINVAL)
    return test_warnings.count == 1 && test_warnings_with("stack") == 1 ? 1 : 3;
  ws_group_t group;
  ws_group_init(&group, 2000);
  for (uint32_t i = 0; i < 2000; i++)
    test_push(pool, test_empty_task, NULL, &group);
  ws_group_wait(&group, pool);
  ws_pool_destroy(pool);
  return 0;
}

static void stacks_that_are_too_small(void)
{
  size_t bytes[] = {16384, 32768, WS_STACK_BYTES_MIN - 4096, 2 * WS_STACK_BYTES_MIN};
  for (uint32_t i = 0; i < 3; i++) {
    const int code = test_in_child(create_with_stack, &bytes[i]);
    CU_ASSERT_TRUE(code == 1 || code == TEST_CHILD_SKIP); // a stack that the C library itself refuses
  }
  if (!TEST_SANITIZED) { // sanitizers need more
    const int code = test_in_child(create_with_stack, &bytes[3]);
    CU_ASSERT_TRUE(code == 0 || code == TEST_CHILD_SKIP);
  }
}

TEST_MAIN("misuse", TEST_CASE(settings_that_are_null), TEST_CASE(texts_that_are_null),
          TEST_CASE(tasks_without_a_function), TEST_CASE(pools_that_are_null),
          TEST_CASE(statistics_without_a_pool), TEST_CASE(groups_beyond_their_range),
          TEST_CASE(messages_name_the_call), TEST_CASE(stacks_that_are_too_small))
