// SPDX-License-Identifier: BSD-3-Clause
/// @file test_misuse.c
/// What the public functions do with NULL, with values beyond the range, and with stacks that are too small:
/// an error, or the end of the process with a message, but no crash and no hang.

#include "../../../include/ws_key.h"
#include "../../../include/ws_record.h"
#include "../../../include/ws_trace.h"
#include "../../support/ws_death.h"

#define INVALID(call) CU_ASSERT_EQUAL(call, -EINVAL)

TEST_CASE(settings_and_texts)
{
  ws_settings_t settings = test_settings(1);
  ws_pool_t *pool = (void *)&pool; // must be set to NULL
  INVALID(ws_pool_create(NULL, &settings));
  INVALID(ws_pool_create(&pool, NULL));
  CU_ASSERT_PTR_NULL(pool);
  ws_settings_default(NULL);
  ws_settings_environment(NULL);
  INVALID(ws_settings_spin_text(NULL, "auto"));
  INVALID(ws_settings_spin_cpu_max_text(NULL, "10"));
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  settings.spin = WS_SPIN_AUTO;
  INVALID(ws_settings_spin_text(&settings, NULL));
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_OFF);
  settings.spin = WS_SPIN_AUTO;
  INVALID(ws_settings_spin_cpu_max_text(&settings, NULL));
  CU_ASSERT_EQUAL(settings.spin, WS_SPIN_OFF);
  CU_ASSERT_EQUAL(settings.spin_cpu_max_percent, 0);
  CU_ASSERT_EQUAL(test_warnings.count, 2);
}

TEST_CASE(pools_that_are_null)
{
  const ws_task_t task = {.func = test_empty_task};
  ws_key_t key;
  ws_key_init(&key);
  ws_keyed_t keyed = {.key = &key, .func = test_empty_task};
  INVALID(ws_pool_push(NULL, task));
  INVALID(ws_pool_try_push(NULL, task));
  INVALID(ws_pool_push_batch(NULL, &task, 1));
  INVALID(ws_pool_push_keyed(NULL, &keyed));
  INVALID(ws_pool_cancel_task(NULL, &keyed));
  INVALID(ws_pool_cancel(NULL, &key));
  INVALID(ws_pool_cancel_wait(NULL, &key));
  INVALID(ws_pool_wait(NULL));
  INVALID(ws_pool_wait_until(NULL, UINT64_MAX));
  INVALID(ws_pool_stop(NULL, WS_STOP_DRAIN));
  INVALID(ws_pool_set_spin(NULL, WS_SPIN_OFF, 0));
  INVALID(ws_pool_set_spin_cpu_max(NULL, 1));
  ws_pool_prewake(NULL, 1, 1);
  ws_pool_prewake_at(NULL, 1, UINT64_MAX);
  ws_pool_phase_begin(NULL, 1);
  ws_pool_phase_end(NULL);
  ws_pool_hold(NULL);
  ws_pool_release(NULL);
}

TEST_CASE(wrong_tasks)
{
  ws_au64_t count = {0};
  ws_key_t key;
  ws_key_init(&key);
  const ws_task_t good = {.func = test_count_task, .arg = &count};
  ws_task_t bad[2] = {{.arg = &count},
                      {.func = test_count_task, .arg = &count, .priority = (ws_priority_t)3}};
  ws_keyed_t keyed[] = {{.func = test_count_task, .arg = &count},
                        {.key = &key, .arg = &count},
                        {.key = &key, .func = test_count_task, .arg = &count, .priority = (ws_priority_t)7}};
  for (uint32_t workers = 0; workers <= 1; workers++) {
    ws_pool_t *pool = test_pool(workers);
    for (uint32_t i = 0; i < TEST_COUNT(bad); i++) {
      INVALID(ws_pool_push(pool, bad[i]));
      INVALID(ws_pool_try_push(pool, bad[i]));
      INVALID(ws_pool_push_batch(pool, (ws_task_t[]){good, bad[i]}, 2));
    }
    for (uint32_t i = 0; i < TEST_COUNT(keyed); i++)
      INVALID(ws_pool_push_keyed(pool, &keyed[i]));
    INVALID(ws_pool_push_batch(pool, NULL, 1));
    INVALID(ws_pool_push_keyed(pool, NULL));
    INVALID(ws_pool_cancel_task(pool, NULL));
    INVALID(ws_pool_cancel(pool, NULL));
    INVALID(ws_pool_cancel_wait(pool, NULL));
    INVALID(ws_pool_stop(pool, (ws_stop_t)(WS_STOP_ABORT + 1)));
    CU_ASSERT_EQUAL(ws_pool_push_batch(pool, NULL, 0), 0);
    CU_ASSERT_EQUAL(ws_pool_cancel(pool, &key), 0);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(test_value(&count), 0);
    test_destroy(pool);
  }
  ws_trace_run(NULL, NULL);
}

TEST_CASE(statistics_without_a_pool)
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

#define ADDED "ws_group_add(): "
#define COMPLETED "ws_group_complete(): "
static const struct {
  uint32_t units, added, completed;
  const char *message;
} group_row[] = {
    {WS_GROUP_UNITS_MAX + 1u, 0, 0, "ws_group_init(): 1073741824 units on top of 0"},
    {WS_GROUP_UNITS_MAX, 1, 0, ADDED "1 units on top of 1073741823"},
    {5, UINT32_MAX, 0, ADDED "4294967295 units on top of 5"},
    {0, UINT32_MAX, 0, ADDED "4294967295 units on top of 0"},
    {1000, 0u - 1000, 0, ADDED "4294966296 units on top of 1000"},
    {7, 1u << 31, 0, ADDED "2147483648 units on top of 7"},
    {5, 1u << 30, 0, ADDED "1073741824 units on top of 5"},
    {0, 0, 1, COMPLETED "1 to complete, but the group waits for 0"},
    {1, 0, 2, COMPLETED "2 to complete, but the group waits for 1"},
    {5, 0, 0x80000001u, COMPLETED "2147483649 to complete, but the group waits for 5"},
    {1, 0, UINT32_MAX, COMPLETED "4294967295 to complete, but the group waits for 1"},
};
static uint32_t row;

static void use_group(void)
{
  ws_group_t group;
  ws_group_init(&group, group_row[row].units);
  if (group_row[row].added > 0)
    ws_group_add(&group, group_row[row].added);
  ws_group_complete(&group, group_row[row].completed);
}

static void await_nothing(void)
{
  ws_pool_await(NULL, NULL, NULL);
}

static void release_without_a_hold(void)
{
  ws_pool_release(test_pool(1));
}

/// Counts that overflow must not look small: a group would be done, and its waiter never wake.
TEST_CASE(messages_name_the_call)
{
  for (row = 0; row < TEST_COUNT(group_row); row++)
    CU_ASSERT(dies_with(use_group, group_row[row].message));
  CU_ASSERT(dies_with(await_nothing, "ws_pool_await(): event, its ready or its sleep is NULL"));
  CU_ASSERT(dies_with(release_without_a_hold, "ws_pool_release(): 1 to complete"));
}

/// @return 1 = refused with a warning; 0 = it works
static int create_with_stack(void *bytes)
{
  size_t got = 0;
  pthread_attr_t attr;
  pthread_attr_init(&attr);
  // 64-bit ARM: the C library wants 128 KiB; musl gives no less than it gave
  if (pthread_attr_setstacksize(&attr, *(const size_t *)bytes) != 0 || pthread_setattr_default_np(&attr) != 0
      || pthread_getattr_default_np(&attr) != 0 || pthread_attr_getstacksize(&attr, &got) != 0
      || got != *(const size_t *)bytes)
    return TEST_CHILD_SKIP;
  const ws_settings_t settings = test_settings(2);
  ws_pool_t *pool;
  if (ws_pool_create(&pool, &settings) == -EINVAL)
    return test_warnings.count == 1 && test_warnings_with("stack") == 1 ? 1 : 3;
  test_burst(pool, 2000, test_empty_task, NULL);
  ws_pool_destroy(pool);
  return 0;
}

TEST_CASE(stacks_that_are_too_small)
{
  size_t bytes[] = {16384, 32768, WS_STACK_BYTES_MIN - 4096, 2 * WS_STACK_BYTES_MIN};
  for (uint32_t i = 0; i < 4 - TEST_SANITIZED; i++) { // sanitizers need more than the last
    const int code = test_in_child(create_with_stack, &bytes[i]);
    CU_ASSERT_TRUE(code == (i < 3) || code == TEST_CHILD_SKIP); // a stack that the C library itself refuses
  }
}

TEST_MAIN("misuse")
