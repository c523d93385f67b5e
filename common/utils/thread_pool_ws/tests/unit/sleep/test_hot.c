// SPDX-License-Identifier: BSD-3-Clause
/// @file test_hot.c
/// Workers of a hot pool: those that there is room for are awake, whatever sent them to sleep before. Linked
/// with --wrap: the pool believes in eight CPUs, and the test decides who is on a producer's.
#define _GNU_SOURCE
#include "../../../sleep/ws_idle.h"

#include <sched.h>

#include "../../../pool/ws_process.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define WORKERS 3u

static ws_au32_t producer_everywhere; ///< bool

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  const int result = __real_sched_getaffinity(pid, bytes, set);
  for (size_t cpu = 8 * bytes; CPU_COUNT_S(bytes, set) > 8;)
    CPU_CLR_S(--cpu, bytes, set);
  for (size_t cpu = 0; CPU_COUNT_S(bytes, set) < 8; cpu++)
    CPU_SET_S(cpu, bytes, set);
  return result;
}

/// The test's control group may have less than eight CPUs' worth.
static uint32_t ws_os_quota_cpus_seam(void)
{
  return UINT32_MAX;
}

static bool ws_producer_on_cpu_seam(const struct ws_pool_s *pool, int32_t cpu)
{
  (void)pool;
  (void)cpu;
  return ws_load_relaxed(&producer_everywhere);
}

static bool all_awake(void *pool)
{
  return test_stats(pool).workers_awake == WORKERS;
}

static bool one_awake(void *pool)
{
  return test_stats(pool).workers_awake == 1;
}

static bool none_awake(void *pool)
{
  return test_stats(pool).workers_awake == 0;
}

static ws_pool_t *hot_pool(ws_spin_t spin)
{
  ws_settings_t settings = test_settings(WORKERS);
  settings.spin = spin;
  return test_create(&settings);
}

/// The processes' budget is used up for a while, as if other pools' workers were awake.
static void no_cpu_to_spare(void)
{
  ws_pool_t *pool = hot_pool(WS_SPIN_HOT);
  CU_ASSERT_TRUE(test_until(all_awake, pool));
  for (uint32_t round = 0; round < 3; round++) {
    ws_process_awake_add(100);
    CU_ASSERT_TRUE(test_until(none_awake, pool));
    ws_process_awake_sub(100);
    CU_ASSERT_TRUE(test_until(all_awake, pool));
  }
  test_destroy(pool);
}

typedef struct {
  ws_pool_t *pool;
  uint64_t parks;
} parked_t;

static bool have_parked(void *parked_arg)
{
  const parked_t *parked = parked_arg;
  return TEST_SUM(parked->pool, parks) == parked->parks && one_awake(parked->pool);
}

static void only_the_surplus_parks(void)
{
  ws_pool_t *pool = hot_pool(WS_SPIN_HOT);
  CU_ASSERT_TRUE(test_until(all_awake, pool));
  const uint64_t parks = TEST_SUM(pool, parks);
  ws_process_awake_add(6); // with the three nine, of which seven may be awake
  CU_ASSERT_TRUE(test_until(have_parked, &(parked_t){pool, parks + 2}));
  ws_process_awake_sub(6);
  CU_ASSERT_TRUE(test_until(all_awake, pool));
  test_destroy(pool);
}

/// As many leave as are too many, of any number that ask.
static void each_leaver_counts(void)
{
  const uint32_t before = ws_process_awake();
  ws_process_awake_add(5);
  uint32_t left = 0;
  for (uint32_t i = 0; i < 5; i++)
    left += ws_process_awake_leave(before + 3);
  CU_ASSERT_EQUAL(left, 2);
  CU_ASSERT_EQUAL(ws_process_awake(), before + 3);
  ws_process_awake_sub(3);
}

static void a_producer_on_its_cpu(void)
{
  ws_pool_t *pool = hot_pool(WS_SPIN_HOT);
  CU_ASSERT_TRUE(test_until(all_awake, pool));
  ws_store_relaxed(&producer_everywhere, 1);
  CU_ASSERT_TRUE(test_until(none_awake, pool));
  ws_store_relaxed(&producer_everywhere, 0);
  CU_ASSERT_TRUE(test_until(all_awake, pool));
  test_destroy(pool);
}

static void a_pool_that_becomes_hot(void)
{
  ws_pool_t *pool = hot_pool(WS_SPIN_OFF);
  for (uint32_t round = 0; round < 3; round++) {
    CU_ASSERT_TRUE(test_until(none_awake, pool));
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_HOT, 0), 0);
    CU_ASSERT_TRUE(test_until(all_awake, pool));
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_OFF, 0), 0);
  }
  CU_ASSERT_TRUE(test_until(none_awake, pool));
  test_destroy(pool);
}

static bool guard_is_dormant(void *pool)
{
  return ws_load_relaxed(&((ws_pool_t *)pool)->guard) == WS_GUARD_DORMANT;
}

static bool guard_has_looked(void *pool)
{
  return test_stats(pool).guard_looks > 0;
}

/// Workers that search need no guard: a guard that was called while they slept becomes dormant while they
/// spin.
static void the_guard_becomes_dormant(void)
{
  ws_process_awake_add(100);
  ws_pool_t *pool = hot_pool(WS_SPIN_HOT);
  CU_ASSERT_TRUE(test_until(none_awake, pool));
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until(guard_has_looked, pool)); // the first push has called it
  ws_process_awake_sub(100);
  CU_ASSERT_TRUE(test_until(all_awake, pool));
  CU_ASSERT_TRUE(test_until(guard_is_dormant, pool));
  CU_ASSERT_TRUE(all_awake(pool));
  test_destroy(pool);
}

/// Nothing of the search is left on the books by workers that come and go.
static void books_are_balanced(void)
{
  const uint32_t before = ws_process_awake();
  ws_pool_t *pool = hot_pool(WS_SPIN_HOT);
  for (uint32_t round = 0; round < 30; round++) {
    ws_store_relaxed(&producer_everywhere, round % 3 == 0);
    ws_process_awake_add(round % 2 ? 6 : 0);
    for (uint32_t i = 0; i < 20; i++)
      test_push(pool, test_empty_task, NULL, NULL);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    ws_process_awake_sub(round % 2 ? 6 : 0);
  }
  ws_store_relaxed(&producer_everywhere, 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_OFF, 0), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  CU_ASSERT_EQUAL(ws_searching(pool), 0);
  CU_ASSERT_EQUAL(ws_process_awake(), before);
  test_destroy(pool);
  CU_ASSERT_EQUAL(ws_process_awake(), before);
}

static void test_seams(void)
{
  seam.sched_getaffinity = sched_getaffinity_seam;
  seam.ws_os_quota_cpus = ws_os_quota_cpus_seam;
  seam.ws_producer_on_cpu = ws_producer_on_cpu_seam;
}

TEST_MAIN_SEAMS(test_seams, "hot", TEST_CASE(each_leaver_counts), TEST_CASE(no_cpu_to_spare),
                TEST_CASE(only_the_surplus_parks), TEST_CASE(a_producer_on_its_cpu),
                TEST_CASE(a_pool_that_becomes_hot), TEST_CASE(the_guard_becomes_dormant),
                TEST_CASE(books_are_balanced))
