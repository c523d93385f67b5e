// SPDX-License-Identifier: BSD-3-Clause
/// @file test_prewake.c
/// Workers woken before there is work: who gets up, how long they look, and that the push then wakes nobody.
#include "../../core/ws_process.h"
#include "../support/ws_test.h"

/// Longer than any pause of the machine that a test could meet, unless the whole machine stops.
#define LONG_NS UINT64_C(100000000)

static ws_pool_t *pool;

static bool someone_searches(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&pool->searching) > 0;
}

static uint32_t awake(void)
{
  return test_stats(pool).workers_awake;
}

/// Without a lane the main thread is a stranger to the pool; with one, a producer.
static void create(uint32_t workers, bool push_first)
{
  pool = test_pool(workers);
  if (push_first)
    test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
}

static void one_gets_up_looks_and_sleeps_again(void)
{
  for (uint32_t push_first = 0; push_first < 2; push_first++) {
    create(2, push_first);
    const uint64_t parks = TEST_SUM(pool, parks);
    ws_pool_prewake(pool, 1, LONG_NS / 10);
    CU_ASSERT_TRUE(test_until_quiet(pool));
    CU_ASSERT_EQUAL(awake(), 0);
    CU_ASSERT_TRUE(TEST_SUM(pool, parks) > parks);
    test_destroy(pool);
  }
}

static void no_more_than_wanted_and_no_more_than_cpus(void)
{
  create(8, true);
  const uint32_t limit = test_cpus() > 1 ? test_cpus() - 1 : 1; // one for the thread that announces
  const uint64_t wakes = test_stats(pool).outside.wakes_sent;
  ws_pool_prewake(pool, 100, 0);
  const uint64_t woken = test_stats(pool).outside.wakes_sent - wakes;
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_TRUE(woken >= 1 && woken <= limit);
  ws_pool_prewake(pool, 0, LONG_NS);
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, wakes + woken);
  test_destroy(pool);
}

/// Needs two CPUs: with one a worker may not spin.
static void the_push_wakes_nobody(void)
{
  if (test_cpus() < 2) {
    printf("(skipped: one CPU) ");
    return;
  }
  create(1, true);
  ws_pool_prewake(pool, 1, LONG_NS);
  CU_ASSERT_TRUE(test_until(someone_searches, NULL));
  ws_stats_t before = test_stats(pool);
  ws_pool_prewake(pool, 1, LONG_NS); // it is awake already
  ws_au64_t count = {0};
  test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), 1);
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, before.outside.wakes_sent);
  test_destroy(pool);
}

static void during_a_stop_nothing_is_left_behind(void)
{
  for (uint32_t round = 0; round < 50; round++) {
    pool = test_pool(4);
    ws_pool_prewake(pool, 4, LONG_NS);
    test_destroy(pool);
  }
}

static void prewakes(void *unused)
{
  (void)unused;
  ws_pool_prewake(pool, 4, 1000);
}

static void from_a_worker(void)
{
  create(4, true);
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, prewakes, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  test_destroy(pool);
}

TEST_MAIN("prewake", TEST_CASE(one_gets_up_looks_and_sleeps_again),
          TEST_CASE(no_more_than_wanted_and_no_more_than_cpus), TEST_CASE(the_push_wakes_nobody),
          TEST_CASE(during_a_stop_nothing_is_left_behind), TEST_CASE(from_a_worker))
