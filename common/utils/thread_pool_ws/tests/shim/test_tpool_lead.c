// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_lead.c
/// Which places that arm an answer are found to announce a burst. The clock is the test's (--wrap), and so is
/// the pool that is told.
#include "../../shim/common/ws_tpool_lead.h"
#include "../support/ws_test.h"

#include <string.h>
#include <time.h>

int __real_clock_gettime(clockid_t clock, struct timespec *now);
int __wrap_clock_gettime(clockid_t clock, struct timespec *now);
void __wrap_ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns);

static _Thread_local uint64_t fake_ns; ///< 0 = the real clock

static struct {
  uint32_t calls;
  ws_pool_t *pool;
  uint32_t workers;
  uint64_t within_ns;
} told;

int __wrap_clock_gettime(clockid_t clock, struct timespec *now)
{
  if (fake_ns == 0)
    return __real_clock_gettime(clock, now);
  now->tv_sec = (time_t)(fake_ns / 1000000000u);
  now->tv_nsec = (long)(fake_ns % 1000000000u);
  return 0;
}

void __wrap_ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns)
{
  told.calls++;
  told.pool = pool;
  told.workers = workers;
  told.within_ns = within_ns;
}

static int first_pool, second_pool; ///< only their addresses are used
static ws_tpool_t first = {.pool = (ws_pool_t *)(void *)&first_pool, .hints = true};
static ws_tpool_t second = {.pool = (ws_pool_t *)(void *)&second_pool, .hints = true};
static ws_tpool_t asleep = {.pool = (ws_pool_t *)(void *)&first_pool}; // its pre-wake is off

/// A thread's learnt sites end with it, so each case runs in a new thread. @return calls that it has made
static uint32_t in_a_thread(void *(*body)(void *))
{
  memset(&told, 0, sizeof(told));
  pthread_t thread;
  CU_ASSERT_EQUAL_FATAL(pthread_create(&thread, NULL, body, NULL), 0);
  pthread_join(thread, NULL);
  return told.calls;
}

static const void *site(uint32_t number)
{
  return (const void *)(uintptr_t)(0x1000 + number);
}

/// Arm at a site, and push @p lead_ns later; then the rest of a slot.
static void slot(uint32_t number, uint64_t lead_ns, ws_tpool_t *tpool)
{
  ws_tpool_lead_arm(site(number), 1);
  fake_ns += lead_ns;
  ws_tpool_lead_push(tpool);
  fake_ns += 1000000;
}

static void *same_lead(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 10; i++)
    slot(1, 30000, &first);
  return unused;
}

static void *three_wanted(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 4; i++) {
    ws_tpool_lead_arm(site(1), 3);
    fake_ns += 30000;
    slot(2, 300, &first);
  }
  return unused;
}

static void as_many_are_woken_as_are_wanted(void)
{
  CU_ASSERT_EQUAL(in_a_thread(three_wanted), 1);
  CU_ASSERT_EQUAL(told.workers, 3);
}

static void a_lead_that_is_kept_wakes(void)
{
  CU_ASSERT_EQUAL(in_a_thread(same_lead), 7); // from the fourth time on
  CU_ASSERT_PTR_EQUAL(told.pool, first.pool);
  CU_ASSERT_EQUAL(told.workers, 1);
  CU_ASSERT_EQUAL(told.within_ns, 45000);
  CU_ASSERT_EQUAL(first.users, 0);
}

static void *pushes_go_to_a_pool_that_sleeps(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 10; i++)
    slot(1, 30000, &asleep);
  return unused;
}

static void who_switched_pre_wake_off_is_not_woken(void)
{
  CU_ASSERT_EQUAL(in_a_thread(pushes_go_to_a_pool_that_sleeps), 0);
  CU_ASSERT_EQUAL(asleep.users, 0);
}

static void *too_short_or_too_long(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 10; i++) {
    slot(1, 300, &first);
    slot(2, 150000, &first);
  }
  return unused;
}

static void leads_out_of_bounds_do_not(void)
{
  CU_ASSERT_EQUAL(in_a_thread(too_short_or_too_long), 0);
}

static void *armed_for_nothing(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 20; i++) {
    ws_tpool_lead_arm(site(1), 1);
    fake_ns += 5000000;
    slot(1, 20000, &first);
  }
  return unused;
}

static void a_site_that_often_leads_to_nothing_does_not(void)
{
  CU_ASSERT_EQUAL(in_a_thread(armed_for_nothing), 0);
}

/// As OAI: channel estimation arms and computes, symbol processing arms and pushes at once.
static void *two_sites_a_push(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 10; i++) {
    ws_tpool_lead_arm(site(1), 1);
    fake_ns += 35000;
    slot(2, 200, &first);
  }
  return unused;
}

static void the_early_one_of_two_wakes(void)
{
  CU_ASSERT_EQUAL(in_a_thread(two_sites_a_push), 7);
  CU_ASSERT_EQUAL(told.within_ns, 35200 + 35200 / 2);
}

/// An estimation for each of four DMRS symbols.
static void *armed_several_times(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 10; i++) {
    for (uint32_t symbol = 0; symbol < 3; symbol++) {
      ws_tpool_lead_arm(site(1), 1);
      fake_ns += 30000;
    }
    slot(1, 30000, &first);
  }
  return unused;
}

static void armings_in_short_order_count_as_one(void)
{
  CU_ASSERT_EQUAL(in_a_thread(armed_several_times), 7 * 4);
  CU_ASSERT_EQUAL(told.within_ns, 45000);
}

static void *an_idle_second(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 4; i++)
    slot(1, 20000, &first); // 1 call
  slot(1, 1000000000, &first); // 1 call, without a push
  for (uint32_t i = 0; i < 4; i++)
    slot(1, 20000, &first); // 1 call
  return unused;
}

static void an_idle_second_is_forgotten_at_once(void)
{
  CU_ASSERT_EQUAL(in_a_thread(an_idle_second), 3);
  CU_ASSERT_EQUAL(told.within_ns, 30000);
}

static void *another_pool(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 4; i++)
    slot(1, 20000, &first); // 1 call
  for (uint32_t i = 0; i < 4; i++)
    slot(1, 20000, &second); // 1 call for the first pool; after three more for the second
  slot(1, 20000, &second);
  return unused;
}

static void a_site_that_changes_its_pool_is_learnt_anew(void)
{
  CU_ASSERT_EQUAL(in_a_thread(another_pool), 3);
  CU_ASSERT_PTR_EQUAL(told.pool, second.pool);
}

static void *many_sites(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 1000; i++)
    slot(i % 20, 20000, &first);
  return unused;
}

static void more_sites_than_can_be_kept_wake_no_worker(void)
{
  CU_ASSERT_EQUAL(in_a_thread(many_sites), 0);
}

static void *closed(void *unused)
{
  fake_ns = 1;
  for (uint32_t i = 0; i < 4; i++)
    slot(1, 20000, &first); // 1 call
  first.users = 1;
  slot(1, 20000, &first);
  return unused;
}

static void a_closed_pool_is_left_alone(void)
{
  ws_tpool_t before = first;
  first.pool = NULL; // nothing to free
  CU_ASSERT_EQUAL(in_a_thread(closed), 1);
  CU_ASSERT_EQUAL(first.users, 1);
  first = before;
}

TEST_MAIN("tpool_lead", TEST_CASE(a_lead_that_is_kept_wakes), TEST_CASE(as_many_are_woken_as_are_wanted),
          TEST_CASE(leads_out_of_bounds_do_not), TEST_CASE(a_site_that_often_leads_to_nothing_does_not),
          TEST_CASE(the_early_one_of_two_wakes), TEST_CASE(armings_in_short_order_count_as_one),
          TEST_CASE(an_idle_second_is_forgotten_at_once),
          TEST_CASE(a_site_that_changes_its_pool_is_learnt_anew),
          TEST_CASE(more_sites_than_can_be_kept_wake_no_worker), TEST_CASE(a_closed_pool_is_left_alone),
          TEST_CASE(who_switched_pre_wake_off_is_not_woken))
