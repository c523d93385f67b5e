// SPDX-License-Identifier: BSD-3-Clause
/// @file test_brief.c
/// Pushes of bursts that are over before a worker could help wake no worker. Linked with --wrap: woken
/// workers are held until the burst is over, so that a machine of any speed shows the same, and the guard is
/// held while a test does not want it.
#include "../../../include/ws_group.h"
#include "../../../pool/ws_lane.h"
#include "../../../sleep/ws_wake.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define WORKERS 3u
#define LONG_NS UINT64_C(3600000000000) ///< no burst of a test takes so long

static ws_pool_t *pool;
static ws_au32_t woken_held, guard_held, learns; ///< bool; learns: pre-wake wants to see every burst

static bool ws_prewake_rests_seam(const struct ws_pool_s *of)
{
  (void)of;
  return !ws_load_acquire(&learns);
}

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  const int result = __real_ws_os_futex_wait(word, expected, timeout_ns);
  while (ws_load_acquire(&guard_held) && word == &pool->guard)
    test_sleep_ms(1);
  return result;
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const int result = __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  while (ws_load_acquire(&woken_held))
    test_sleep_ms(1);
  return result;
}

static void set(void *flag)
{
  ws_store_release((ws_au32_t *)flag, 1);
}

static bool is_set(void *flag)
{
  return ws_load_acquire((ws_au32_t *)flag) != 0;
}

/// Asleep in the kernel. No thread wakes them: the guard is held, or was never called, and no timer is set.
static bool all_sleep(void *unused)
{
  (void)unused;
  bool sleep = true;
  for (uint32_t i = 0; i < pool->workers; i++)
    sleep &= ws_is_parked(pool, i) && ws_os_thread_sleeps(ws_tid(pool->worker[i]));
  return sleep;
}

static void begin(uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.spin_ns_max = 0; // no burst follows another one at once
  pool = test_create(&settings);
  CU_ASSERT_TRUE(test_until(all_sleep, NULL));
  ws_store_release(&guard_held, 1);
}

static void end(void)
{
  ws_store_release(&guard_held, 0);
  ws_store_release(&woken_held, 0);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
}

static uint64_t wakes(void)
{
  return test_stats(pool).outside.wakes_sent;
}

static uint64_t spared(void)
{
  return test_stats(pool).outside.wakes_spared;
}

static void tiny(void *arg)
{
  (void)arg;
}

/// The workers sleep. A burst that no worker reaches, on a machine that takes so long to wake one.
/// @return how many wakes it has cost
static uint64_t burst(uint32_t tasks, uint64_t waking_ns)
{
  const uint64_t before = wakes();
  ws_group_t group;
  ws_group_init(&group, tasks);
  ws_store_release(&woken_held, 1);
  ws_stat_store(&pool->waking_ns, waking_ns);
  for (uint32_t i = 0; i < tasks; i++)
    test_push(pool, tiny, NULL, &group);
  ws_group_wait(&group, pool);
  ws_store_release(&woken_held, 0);
  CU_ASSERT_TRUE(test_until(all_sleep, NULL));
  return wakes() - before;
}

static void learn(void)
{
  for (uint32_t i = 0; i < WS_ALONE_ENOUGH; i++)
    CU_ASSERT_EQUAL(burst(2, LONG_NS), 1);
}

static void tiny_bursts_wake_no_worker_but_for_trials(void)
{
  begin(WORKERS);
  learn();
  CU_ASSERT_EQUAL(burst(2, LONG_NS), 0);
  for (uint32_t i = 0; i < WS_ALONE_SITES; i++)
    pool->tasks.queue[WORKERS]->alone.site[i].bursts = WS_ALONE_TRIAL_EVERY - 3;
  for (uint32_t i = 2; i < 6; i++)
    CU_ASSERT_EQUAL(burst(2, LONG_NS), i == 4);
  CU_ASSERT_EQUAL(spared(), 2 * 4);
  end();
}

static void no_wake_is_spared_while_prewake_learns(void)
{
  begin(WORKERS);
  learn();
  ws_store_release(&learns, 1);
  CU_ASSERT_EQUAL(burst(2, LONG_NS), 1);
  ws_store_release(&learns, 0);
  CU_ASSERT_EQUAL(burst(2, LONG_NS), 0);
  end();
}

static void a_third_task_wakes_a_worker(void)
{
  begin(WORKERS);
  learn();
  CU_ASSERT_EQUAL(burst(2, LONG_NS), 0);
  CU_ASSERT_EQUAL(burst(3, LONG_NS), 1);
  end();
}

static void bursts_that_last_longer_than_a_wake_wake_a_worker_again(void)
{
  begin(WORKERS);
  learn();
  ws_stat_store(&pool->wake_call_ns, 0);
  CU_ASSERT_EQUAL(burst(2, 0), 0); // this one shows it
  CU_ASSERT_EQUAL(burst(2, 0), 1);
  end();
}

/// Each function's bursts are known to be over before a worker could help.
static void know_all(void)
{
  for (uint32_t i = 0; i < WS_ALONE_SITES; i++)
    pool->tasks.queue[WORKERS]->alone.site[i] =
        (ws_alone_site_t){.func = set, .size = 1, .score = WS_ALONE_MAX};
}

static void the_guard_reaches_a_task_whose_wake_was_spared(void)
{
  static ws_au32_t ran;
  begin(WORKERS);
  learn();
  const uint64_t before = wakes();
  know_all();
  test_push(pool, set, &ran, NULL);
  CU_ASSERT_EQUAL(wakes(), before);
  ws_store_release(&guard_held, 0);
  CU_ASSERT_TRUE(test_until(is_set, &ran)); // no thread joins
  end();
}

/// A thread whose bursts were short, and that pushes without a wait from now on.
static void a_thread_that_waits_no_more_wakes_workers_again(void)
{
  enum { PUSHES = 10, MISTAKES = 3 };
  static ws_au32_t ran;
  begin(WORKERS);
  learn();
  know_all();
  ws_store_release(&guard_held, 0);
  const uint64_t before = spared();
  for (uint32_t i = 0; i < PUSHES; i++) {
    ws_init_store(&ran, 0);
    CU_ASSERT_TRUE(test_until_quiet(pool));
    ws_stat_store(&pool->wake_call_ns, 0);
    ws_stat_store(&pool->waking_ns, 0);
    test_push(pool, set, &ran, NULL);
    CU_ASSERT_TRUE(test_until(is_set, &ran));
  }
  CU_ASSERT_TRUE(spared() - before <= MISTAKES);
  end();
}

/// Another thread may have relied on the place that becomes free.
static void a_free_place_is_filled(void)
{
  static ws_au32_t ran;
  begin(WORKERS);
  learn();
  know_all();
  const uint64_t before = wakes();
  test_push(pool, set, &ran, NULL);
  CU_ASSERT_EQUAL(wakes(), before);
  ws_fill_place(pool, ws_here_known(pool));
  CU_ASSERT_EQUAL(wakes(), before + 1);
  CU_ASSERT_TRUE(test_until(is_set, &ran));
  end();
}

static void a_pool_without_a_guard_spares_nothing(void)
{
  begin(1);
  for (uint32_t i = 0; i < 2 * WS_ALONE_ENOUGH; i++)
    CU_ASSERT_EQUAL(burst(2, LONG_NS), 1);
  CU_ASSERT_EQUAL(spared(), 0);
  end();
}

static void test_seams(void)
{
  seam.ws_prewake_rests = ws_prewake_rests_seam;
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
}

TEST_MAIN_SEAMS(test_seams, "brief", TEST_CASE(tiny_bursts_wake_no_worker_but_for_trials),
                TEST_CASE(no_wake_is_spared_while_prewake_learns), TEST_CASE(a_third_task_wakes_a_worker),
                TEST_CASE(bursts_that_last_longer_than_a_wake_wake_a_worker_again),
                TEST_CASE(the_guard_reaches_a_task_whose_wake_was_spared),
                TEST_CASE(a_thread_that_waits_no_more_wakes_workers_again), TEST_CASE(a_free_place_is_filled),
                TEST_CASE(a_pool_without_a_guard_spares_nothing))
