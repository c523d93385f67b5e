// SPDX-License-Identifier: BSD-3-Clause
/// @file test_watch.c
/// What the guard's thread sees once a second of activity: a quota that is used up, CPUs that are taken away.
/// The test says what the system says, and makes looks due without waiting for the second.
#include "../../../prewake/ws_prewake_state.h"
#include "../../../sleep/ws_guard.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

static ws_au64_t throttled;
static ws_au32_t cpus, quota = {UINT32_MAX};

static uint64_t ws_os_throttled_seam(void)
{
  return ws_load_relaxed(&throttled); // relaxed: the test waits for what follows from it
}

static uint32_t ws_os_process_cpu_count_seam(void)
{
  return ws_load_relaxed(&cpus); // relaxed: as above
}

static uint32_t ws_os_quota_cpus_seam(void)
{
  return ws_load_relaxed(&quota); // relaxed: as above
}

static ws_pool_t *pool;

static bool has_looked(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&pool->watch_due) == 0; // relaxed: as above
}

/// What the guard found is in the pool when the next look has begun and ended.
static void look(void)
{
  for (uint32_t twice = 0; twice < 2; twice++) {
    ws_store_relaxed(&pool->watch_due, 1); // relaxed: as in ws_watch_tick
    for (uint32_t turn = 0; turn < 1000 && !has_looked(NULL); turn++) {
      ws_os_futex_wake(&pool->guard, 1); // it may not sleep yet
      test_sleep_ms(1);
    }
    CU_ASSERT_TRUE(test_until(has_looked, NULL));
  }
}

static bool create(void)
{
  ws_store_relaxed(&cpus, test_cpus()); // relaxed: as above
  pool = test_pool(2);
  if (pool->watched)
    return true;
  printf("(skipped: one CPU) ");
  test_destroy(pool);
  return false;
}

static ws_prewake_stats_t stats(void)
{
  ws_prewake_stats_t now;
  ws_pool_prewake_stats(pool, &now);
  return now;
}

static void a_quota_that_is_used_up_lowers_the_level(void)
{
  ws_store_relaxed(&throttled, 7); // relaxed: as above; what happened before says nothing
  if (!create())
    return;
  look();
  CU_ASSERT_EQUAL(stats().level, 2);
  for (uint32_t fall = 1; fall <= 3; fall++) {
    ws_store_relaxed(&throttled, 7 + fall); // relaxed: as above
    look();
    CU_ASSERT_EQUAL(stats().level, fall == 1 ? 1 : 0);
    CU_ASSERT_EQUAL(stats().throttled_looks, fall);
  }
  look(); // no more of it: not yet up again
  CU_ASSERT_EQUAL(stats().level, 0);
  CU_ASSERT_EQUAL(stats().throttled_looks, 3);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0); // the guard's thread has ended
  CU_ASSERT_TRUE(ws_load_relaxed(&pool->prewake->span_ns) >= 4 * UINT64_C(2000000000)); // longer each time
  test_destroy(pool);
}

static void without_cpus_no_worker_spins(void)
{
  if (!create())
    return;
  look();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpus), pool->cpus); // relaxed: as above
  ws_store_relaxed(&cpus, 1); // relaxed: as above
  look();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpus), 1); // relaxed: as above
  ws_store_relaxed(&cpus, 0); // relaxed: as above; it could not be told
  look();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpus), 1); // relaxed: as above
  ws_store_relaxed(&cpus, 64); // relaxed: as above; more than at the start: the cap reckons with those
  look();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpus), pool->cpus); // relaxed: as above
  ws_store_relaxed(&quota, 1); // relaxed: as above
  look();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpus), 1); // relaxed: as above
  ws_store_relaxed(&quota, UINT32_MAX); // relaxed: as above
  test_destroy(pool);
}

/// Workers that are pinned to CPUs which the creator may not use (isolated ones) are in the pool's count.
static void cpus_outside_the_creators_set_are_not_missing(void)
{
  if (!create())
    return;
  test_destroy(pool);
  ws_store_relaxed(&cpus, 1); // relaxed: as above; at the start of the guard's thread, too
  pool = test_pool(2);
  look();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpus), pool->cpus); // relaxed: as above
  test_destroy(pool);
}

static void test_seams(void)
{
  seam.ws_os_throttled = ws_os_throttled_seam;
  seam.ws_os_process_cpu_count = ws_os_process_cpu_count_seam;
  seam.ws_os_quota_cpus = ws_os_quota_cpus_seam;
}

TEST_MAIN_SEAMS(test_seams, "watch", TEST_CASE(a_quota_that_is_used_up_lowers_the_level),
                TEST_CASE(without_cpus_no_worker_spins),
                TEST_CASE(cpus_outside_the_creators_set_are_not_missing))
