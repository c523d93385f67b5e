// SPDX-License-Identifier: BSD-3-Clause
/// @file test_prewake.c
/// Workers woken before there is work: which ones, that the push then wakes none, that all sleep again, and
/// what can be set while a pool runs. Timers that meet pushes and stops: stress_random. Linked with --wrap of
/// the clock and of what may end a spin: a worker that looks can be kept looking, however busy the machine.
#include <errno.h>

#include "../../../pool/ws_process.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

/// Longer than any pause of the machine that a test could meet, unless the whole machine stops.
#define LONG_NS UINT64_C(100000000)

static ws_pool_t *pool;

static ws_au64_t stands_at_ns; ///< the time, for all; 0 = the clock goes
static ws_au32_t may_spin; ///< bool: each worker, at any time
static ws_au64_t turns; ///< of workers that look

static uint64_t ws_os_now_ns_seam(void)
{
  const uint64_t at_ns = ws_hint_load(&stands_at_ns);
  return at_ns ? at_ns : __real_ws_os_now_ns();
}

static void ws_relax_seam(void)
{
  ws_stat_add(&turns, 1);
  __real_ws_relax();
}

static bool ws_may_spin_seam(const struct ws_pool_s *seen, uint32_t more)
{
  // relaxed: the test waits for what follows from it
  return more == 0 && ws_load_relaxed(&may_spin) ? ws_load_relaxed(&seen->state) == WS_RUNNING
                                                 : __real_ws_may_spin(seen, more);
}

static bool ws_producer_on_cpu_seam(const struct ws_pool_s *seen, int32_t cpu)
{
  return !ws_load_relaxed(&may_spin) && __real_ws_producer_on_cpu(seen, cpu); // relaxed: as above
}

/// From now on a worker that may look for a time looks until it finds something, or the mode forbids it.
static void stop_the_clock(void)
{
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, 100), 0);
  test_sleep_ms(30); // at least: a spin that was interrupted has used up the share of 10 ms, and more
  ws_store_relaxed(&may_spin, 1); // relaxed: as above
  ws_store_relaxed(&stands_at_ns, __real_ws_os_now_ns()); // relaxed: as above
}

static void start_the_clock(void)
{
  ws_store_relaxed(&stands_at_ns, 0); // relaxed: as above
  ws_store_relaxed(&may_spin, 0); // relaxed: as above
}

static bool is_beyond(void *count)
{
  return test_value(&turns) > *(uint64_t *)count;
}

/// @return whether the only worker goes on looking
static bool it_looks(void)
{
  uint64_t count = test_value(&turns) + 100;
  return test_until(is_beyond, &count) && ws_searching(pool) > 0;
}

/// Without a lane the pool does not count the main thread; with one, it is a producer.
static void create(uint32_t workers, bool push_first)
{
  pool = test_pool(workers);
  if (push_first)
    test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
}

/// A time that has passed, or is a mistake, is now.
static void workers_wake_look_and_sleep_again(void)
{
  for (uint32_t push_first = 0; push_first < 2; push_first++) {
    create(3, push_first);
    const uint64_t times_ns[] = {0, 1, test_now_ns(), UINT64_MAX,
                                 test_now_ns() + 3600 * UINT64_C(1000000000)};
    for (uint32_t i = 0; i <= TEST_COUNT(times_ns); i++) {
      const uint64_t parks = TEST_SUM(pool, parks);
      if (i < TEST_COUNT(times_ns))
        ws_pool_prewake_at(pool, 3, times_ns[i]);
      else
        ws_pool_prewake(pool, 1, LONG_NS / 10);
      CU_ASSERT_TRUE(test_until_quiet(pool));
      CU_ASSERT_EQUAL(test_stats(pool).workers_awake, 0);
      CU_ASSERT_TRUE(TEST_SUM(pool, parks) > parks);
    }
    test_destroy(pool);
  }
}

static bool is_capped(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->guard) == WS_GUARD_DORMANT; // which has lowered a cap that it had lifted
}

static void no_more_than_wanted_and_no_more_than_cpus(void)
{
  create(8, true);
  CU_ASSERT_TRUE(test_until(is_capped, NULL));
  const uint32_t limit = test_cpus() > 1 ? test_cpus() - 1 : 1; // one for the thread that announces
  const uint64_t wakes = test_stats(pool).outside.wakes_sent;
  stop_the_clock(); // a worker that sleeps again could be woken again
  ws_pool_prewake(pool, 100, LONG_NS);
  const uint64_t woken = test_stats(pool).outside.wakes_sent - wakes;
  CU_ASSERT_TRUE(woken >= 1 && woken <= limit);
  start_the_clock();
  CU_ASSERT_TRUE(test_until_quiet(pool));
  ws_pool_prewake(pool, 0, LONG_NS);
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, wakes + woken);
  test_destroy(pool);
}

/// Needs two CPUs: with one a worker may not spin.
static void the_push_wakes_no_worker(void)
{
  if (test_cpus() < 2) {
    printf("(skipped: one CPU) ");
    return;
  }
  create(1, true);
  stop_the_clock();
  ws_pool_prewake(pool, 1, LONG_NS);
  CU_ASSERT_TRUE(it_looks());
  ws_stats_t before = test_stats(pool);
  ws_pool_prewake(pool, 1, LONG_NS); // it is awake already
  ws_au64_t count = {0};
  test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), 1);
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, before.outside.wakes_sent);
  start_the_clock();
  test_destroy(pool);
}

static void a_wrong_mode_changes_nothing(void)
{
  ws_settings_t settings = test_settings(2);
  settings.spin = WS_SPIN_FIXED;
  settings.spin_lead_ns = 12345;
  settings.spin_cpu_max_percent = 17;
  pool = test_create(&settings);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, (ws_spin_t)(WS_SPIN_HOT + 1), 0), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, (ws_spin_t)-1, 0), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_FIXED, WS_SPIN_LEAD_NS_MAX + 1), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_AUTO, UINT64_MAX), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, 101), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, UINT32_MAX), -EINVAL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin), WS_SPIN_FIXED);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_lead_ns), 12345);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpu_max_percent), 17);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_FIXED, WS_SPIN_LEAD_NS_MAX), 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_OFF, 0), 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, 0), 0);
  CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(pool, 100), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin), WS_SPIN_OFF);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->spin_cpu_max_percent), 100);
  test_destroy(pool);
}

/// A worker that busy-polls stops when that is no longer the mode.
static void from_hot_to_all_others(void)
{
  static const ws_spin_t others[] = {WS_SPIN_OFF, WS_SPIN_FIXED, WS_SPIN_AUTO};
  if (test_cpus() < 2) {
    printf("(skipped: one CPU) ");
    return;
  }
  create(1, true);
  for (uint32_t i = 0; i < TEST_COUNT(others); i++) {
    ws_store_relaxed(&may_spin, 1); // relaxed: as above
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, WS_SPIN_HOT, 0), 0);
    test_push(pool, test_empty_task, NULL, NULL);
    CU_ASSERT_TRUE(it_looks());
    CU_ASSERT_EQUAL(ws_pool_set_spin(pool, others[i], 0), 0);
    CU_ASSERT_TRUE(test_until_quiet(pool));
    ws_store_relaxed(&may_spin, 0); // relaxed: as above
  }
  test_destroy(pool);
}

static void test_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_relax = ws_relax_seam;
  seam.ws_may_spin = ws_may_spin_seam;
  seam.ws_producer_on_cpu = ws_producer_on_cpu_seam;
}

TEST_MAIN_SEAMS(test_seams, "prewake", TEST_CASE(workers_wake_look_and_sleep_again),
                TEST_CASE(no_more_than_wanted_and_no_more_than_cpus), TEST_CASE(the_push_wakes_no_worker),
                TEST_CASE(a_wrong_mode_changes_nothing), TEST_CASE(from_hot_to_all_others))
