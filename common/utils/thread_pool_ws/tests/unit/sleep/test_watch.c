// SPDX-License-Identifier: BSD-3-Clause
/// @file test_watch.c
/// What the guard's thread sees once a second of activity: a quota that is used up, CPUs that are taken away.
/// The test says what the system says, and makes the clock go.
#include "../../../sleep/ws_watch.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_world.h"

static ws_au64_t throttled, ahead_ns;
static ws_au32_t cpus, quota = {UINT32_MAX};

static ws_grants_t ws_os_grants_seam(void)
{
  // relaxed: the test waits for what follows from them
  return (ws_grants_t){.cpus = ws_load_relaxed(&quota), .throttled = ws_load_relaxed(&throttled)};
}

static uint32_t ws_os_process_cpu_count_seam(void)
{
  return ws_load_relaxed(&cpus); // relaxed: as above
}

static uint64_t ws_os_now_ns_seam(void)
{
  return __real_ws_os_now_ns() + ws_load_relaxed(&ahead_ns); // relaxed: any time will do
}

static ws_prewake_stats_t stats(ws_pool_t *pool)
{
  ws_prewake_stats_t now;
  ws_pool_prewake_stats(pool, &now);
  return now;
}

typedef struct {
  ws_pool_t *pool;
  uint32_t level;
} throttled_t;

/// Two seconds pass, with a task in them, and the quota is used up once more. What happened before the first
/// look says nothing.
static bool is_down_at(void *throttled_arg)
{
  const throttled_t *wanted = throttled_arg;
  ws_add_relaxed(&throttled, 1);
  ws_add_relaxed(&ahead_ns, 2000 * MS);
  test_push(wanted->pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(wanted->pool), 0);
  return stats(wanted->pool).level <= wanted->level;
}

/// However many workers there are, and whether there is a quota of one CPU before.
TEST_CASE(a_quota_that_is_used_up_lowers_the_level)
{
  ws_store_relaxed(&cpus, test_cpus()); // relaxed: as above
  for (uint32_t i = 0; i < 4; i++) {
    ws_store_relaxed(&quota, i % 2 ? UINT32_MAX : 1); // relaxed: as above
    ws_pool_t *pool = test_pool(1 + i / 2);
    CU_ASSERT_EQUAL(stats(pool).level, 2);
    CU_ASSERT_TRUE(test_until(is_down_at, &(throttled_t){pool, 1}));
    CU_ASSERT_TRUE(stats(pool).throttled_looks > 0);
    CU_ASSERT_TRUE(test_until(is_down_at, &(throttled_t){pool, 0}));
    test_destroy(pool);
  }
}

/// A pool of four CPUs.
TEST_CASE(without_cpus_no_worker_spins)
{
  static const struct {
    uint32_t at_start, now, quota, spin_cpus;
  } rows[] = {
      {4, 4, UINT32_MAX, 4},  {4, 1, UINT32_MAX, 1}, // three have gone
      {4, 0, UINT32_MAX, 1}, // it cannot be told: as before
      {4, 64, UINT32_MAX, 4}, // more than at the start: the cap reckons with those
      {4, 4, 1, 1}, // of a quota
      {1, 1, UINT32_MAX, 4}, // workers are pinned to CPUs which the creator may not use (isolated ones)
  };
  world_begin(WS_SPIN_AUTO);
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    ws_watch_t watch = {.throttled = UINT64_MAX, .cpus = rows[i].at_start};
    ws_store_relaxed(&cpus, rows[i].now); // relaxed: as above
    ws_store_relaxed(&quota, rows[i].quota); // relaxed: as above
    ws_store_relaxed(&ws_sleep_pool(&world_pool)->watch.due, 1); // relaxed: as above
    ws_watch_look(&world_pool, &watch);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(&world_pool)->spin_cpus),
                    rows[i].spin_cpus); // relaxed: as above
  }
  ws_store_relaxed(&quota, UINT32_MAX); // relaxed: as above
}

TEST_MAIN_SEAMS("watch", SEAM(ws_os_grants), SEAM(ws_os_process_cpu_count), SEAM(ws_os_now_ns))
