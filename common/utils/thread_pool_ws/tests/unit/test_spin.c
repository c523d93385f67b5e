// SPDX-License-Identifier: BSD-3-Clause
/// @file test_spin.c
/// How long an idle worker spins: the sure part, the expected gap when the work has paid for it, and when not
/// at all. The clock and what the worker sees are the test's own.
#include <string.h>

#include "../../core/ws_spin.h"
#include "../support/ws_test.h"

#define US 1000u
#define SURE_NS (40u * US)
#define GAP_NS (600u * US)
#define STEP_NS 100u ///< that the clock goes on at each look at it

static struct {
  uint64_t now_ns;
  uint64_t visible_ns; ///< work is visible from then on
  uint64_t earn_ns; ///< at SURE_NS / 2 of a spin a thread outside earns this
  uint64_t spin_start_ns;
  bool may, producer_here;
} world;

uint64_t __wrap_ws_os_now_ns(void);
bool __wrap_ws_work_visible(struct ws_pool_s *pool);
bool __wrap_ws_may_spin(const struct ws_pool_s *pool);
bool __wrap_ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu);

uint64_t __wrap_ws_os_now_ns(void)
{
  return world.now_ns += STEP_NS;
}

bool __wrap_ws_work_visible(struct ws_pool_s *pool)
{
  if (world.earn_ns > 0 && world.now_ns - world.spin_start_ns > SURE_NS / 2) {
    ws_spin_earn(pool, world.earn_ns);
    world.earn_ns = 0;
  }
  return world.now_ns >= world.visible_ns;
}

bool __wrap_ws_may_spin(const struct ws_pool_s *pool)
{
  (void)pool;
  return world.may;
}

bool __wrap_ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu)
{
  (void)pool;
  (void)cpu;
  return world.producer_here;
}

static struct ws_pool_s pool;
static ws_worker_t worker;

static void new_world(ws_spin_t spin)
{
  memset(&pool, 0, sizeof(pool));
  memset(&worker, 0, sizeof(worker));
  memset(&world, 0, sizeof(world));
  pool.settings.spin = spin;
  pool.settings.spin_ns_max = SURE_NS;
  pool.workers = 1;
  pool.mask_words = 1;
  worker.pool = &pool;
  world.now_ns = 1000000000u;
  world.visible_ns = UINT64_MAX;
  world.may = true;
}

/// One period: work for @p busy_ns by the worker, then nothing for @p gap_ns. @return how long the worker
/// spun
static uint64_t one_period(uint64_t busy_ns, uint64_t gap_ns)
{
  world.now_ns += busy_ns;
  world.spin_start_ns = world.now_ns;
  world.visible_ns = world.now_ns + gap_ns;
  ws_spin(&worker, true);
  const uint64_t spun_ns = world.now_ns - world.spin_start_ns;
  if (world.now_ns < world.visible_ns)
    world.now_ns = world.visible_ns; // it sleeps, and is woken
  ws_spin_found(&worker);
  worker.searching = false;
  return spun_ns;
}

static uint64_t after_periods(uint32_t count, uint64_t busy_ns, uint64_t gap_ns)
{
  for (uint32_t i = 0; i < count; i++)
    one_period(busy_ns, gap_ns);
  return one_period(busy_ns, gap_ns);
}

static bool about(uint64_t value_ns, uint64_t wanted_ns)
{
  return value_ns + 5 * STEP_NS >= wanted_ns && value_ns <= wanted_ns + 5 * STEP_NS;
}

static void sure_part_only_when_nothing_is_known(void)
{
  new_world(WS_SPIN_AUTO);
  CU_ASSERT_TRUE(about(one_period(2000 * US, GAP_NS), SURE_NS));
}

static void through_an_expected_gap_that_is_paid_for(void)
{
  new_world(WS_SPIN_AUTO);
  CU_ASSERT_TRUE(about(after_periods(6, 600 * US, GAP_NS), GAP_NS));
}

static void no_further_than_expected(void)
{
  new_world(WS_SPIN_AUTO);
  after_periods(6, 2000 * US, GAP_NS);
  CU_ASSERT_TRUE(about(one_period(2000 * US, 10 * GAP_NS), GAP_NS + GAP_NS / 16));
  CU_ASSERT_TRUE(about(one_period(20000 * US, GAP_NS), SURE_NS)); // it was wrong: no confidence
}

static void asleep_when_the_gap_costs_too_much(void)
{
  new_world(WS_SPIN_AUTO);
  CU_ASSERT_TRUE(about(after_periods(20, 100 * US, GAP_NS), SURE_NS)); // and nothing was saved up
}

static void every_worker_awake_must_be_paid_for(void)
{
  new_world(WS_SPIN_AUTO);
  pool.workers = 2; // both awake
  CU_ASSERT_TRUE(about(after_periods(6, 600 * US, GAP_NS), SURE_NS));
  CU_ASSERT_TRUE(about(after_periods(6, 1200 * US, GAP_NS), GAP_NS));
}

static void what_helpers_earn_counts_until_the_sure_part_is_over(void)
{
  new_world(WS_SPIN_AUTO);
  after_periods(6, 300 * US, GAP_NS);
  world.earn_ns = 300 * US;
  CU_ASSERT_TRUE(about(one_period(300 * US, GAP_NS), GAP_NS));
  CU_ASSERT_TRUE(about(one_period(300 * US, GAP_NS), SURE_NS));
}

static void short_gaps_are_not_learnt_and_keep_the_credit(void)
{
  new_world(WS_SPIN_AUTO);
  after_periods(6, 600 * US, GAP_NS);
  const uint64_t learnt_ns = worker.gap_ns;
  CU_ASSERT_TRUE(about(one_period(600 * US, 10 * US), 10 * US)); // the next phase of the slot
  CU_ASSERT_EQUAL(worker.gap_ns, learnt_ns);
  CU_ASSERT_TRUE(about(one_period(30 * US, GAP_NS), GAP_NS));
}

static void pauses_are_not_learnt(void)
{
  new_world(WS_SPIN_AUTO);
  after_periods(6, 600 * US, GAP_NS);
  const uint64_t learnt_ns = worker.gap_ns;
  one_period(600 * US, 1000000 * US);
  CU_ASSERT_EQUAL(worker.gap_ns, learnt_ns);
  CU_ASSERT_EQUAL(worker.gap_kept, 0);
}

static void modes_and_bounds(void)
{
  new_world(WS_SPIN_HOT);
  CU_ASSERT_TRUE(about(one_period(1 * US, 100 * GAP_NS), 100 * GAP_NS));
  new_world(WS_SPIN_OFF);
  CU_ASSERT_TRUE(about(one_period(2000 * US, GAP_NS), 0));
  new_world(WS_SPIN_AUTO);
  world.may = false; // no CPU to spare
  CU_ASSERT_TRUE(about(one_period(2000 * US, GAP_NS), 0));
  new_world(WS_SPIN_HOT);
  world.producer_here = true;
  CU_ASSERT_TRUE(about(one_period(2000 * US, GAP_NS), 0));
}

TEST_MAIN("spin", TEST_CASE(sure_part_only_when_nothing_is_known),
          TEST_CASE(through_an_expected_gap_that_is_paid_for), TEST_CASE(no_further_than_expected),
          TEST_CASE(asleep_when_the_gap_costs_too_much), TEST_CASE(every_worker_awake_must_be_paid_for),
          TEST_CASE(what_helpers_earn_counts_until_the_sure_part_is_over),
          TEST_CASE(short_gaps_are_not_learnt_and_keep_the_credit), TEST_CASE(pauses_are_not_learnt),
          TEST_CASE(modes_and_bounds))
