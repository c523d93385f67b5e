// SPDX-License-Identifier: BSD-3-Clause
/// @file test_spin.c
/// How long a worker looks for work after it has run out of it, and within which bounds. In a world of its
/// own (ws_world.h).

#include "../../../prewake/ws_prewake.h"
#include "../../../sleep/ws_budget.h"
#include "../../../sleep/ws_wake.h"
#include "../../support/ws_world.h"

/// Gaps that would have the worker spin without end, if there were no cap.
static uint64_t adverse_gap_ns(uint32_t kind, uint64_t *random)
{
  switch (kind) {
    case 0:
      return SLOT_NS;
    case 1:
      return 50 * US + test_random(random) % (3 * MS);
    case 2:
      return test_random(random) % (50 * US);
    case 3:
      return 12 * MS; // what was saved up in it is spent at once
    default:
      return test_random(random) % 8 ? 2 * US : 30 * MS;
  }
}

TEST_CASE(no_more_than_the_cap)
{
  static const uint32_t caps[] = {0, 1, 5, 10, 50, 100};
  uint64_t random = series_seed();
  for (uint32_t i = 0; i < TEST_COUNT(caps); i++) {
    for (uint32_t kind = 0; kind < 10; kind++) {
      world_begin(WS_SPIN_AUTO);
      world_worker.realtime = i % 2 == 0; // else threads of normal class would never have its CPU
      CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(&world_pool, caps[i]), 0);
      ws_store_relaxed(&ws_sleep_pool(&world_pool)->phases,
                       kind < 5); // it wants to spin always, or as it has learnt
      const uint64_t start_ns = world.now_ns;
      while (world.now_ns - start_ns < 100 * MS)
        world_gap(adverse_gap_ns(kind % 5, &random), test_random(&random) % (20 * US));
      const uint64_t allowed_ns = (world.now_ns - start_ns + 10 * MS) / 100 * caps[i];
      CU_ASSERT_TRUE(world_spun() <= allowed_ns + TURN_NS + 2 * LOOK_NS);
      if (kind > 0)
        continue;
      CU_ASSERT_TRUE(100 * world_spun() >= 85 * allowed_ns); // and all of it
      CU_ASSERT_EQUAL(world_count(&world_worker.queue.count.capped) > 0, caps[i] < 100);
    }
  }
}

TEST_CASE(during_a_phase)
{
  world_begin(WS_SPIN_OFF);
  for (uint32_t i = 0; i < 20; i++)
    world_spun_in(3 * MS);
  CU_ASSERT_TRUE(world_spun_in(SLOT_NS) < 2 * US); // nothing has followed so far
  ws_pool_phase_begin(&world_pool, 1);
  ws_pool_phase_begin(&world_pool, 1);
  CU_ASSERT_TRUE(world_about(world_spun_in(300 * US), 300 * US));
  ws_pool_phase_end(&world_pool);
  CU_ASSERT_TRUE(world_about(world_spun_in(300 * US), 300 * US)); // the other one goes on
  ws_pool_phase_end(&world_pool);
  CU_ASSERT_TRUE(world_spun_in(SLOT_NS) < 2 * US);
}

TEST_CASE(until_the_time_announced)
{
  world_begin(WS_SPIN_OFF);
  for (uint32_t i = 0; i < 20; i++)
    world_spun_in(3 * MS);
  ws_pool_prewake(&world_pool, 1, 200 * US);
  CU_ASSERT_TRUE(world_about(world_spun_in(SLOT_NS), 200 * US));
  ws_pool_prewake(&world_pool, 1, 200 * US);
  CU_ASSERT_TRUE(world_about(world_spun_in(100 * US), 100 * US));
  for (uint32_t mistaken = 0; mistaken < 2; mistaken++) { // the burst may come at once
    world_spun_in(20 * MS);
    ws_pool_prewake_at(&world_pool, 1, mistaken ? UINT64_MAX : world.now_ns);
    CU_ASSERT_TRUE(world_about(world_spun_in(SLOT_NS), SLOT_NS));
  }
}

/// After each burst it looks for what follows, unless nothing ever does.
TEST_CASE(looks_for_what_follows)
{
  uint64_t random = series_seed();
  world_begin(WS_SPIN_OFF);
  CU_ASSERT_TRUE(world_about(world_spun_in(3 * MS), world_pool.settings.spin_ns_max)); // nothing is known
  for (uint32_t i = 0; i < 40; i++)
    world_spun_in(1 * MS + test_random(&random) % (3 * MS));
  CU_ASSERT_TRUE(world_spun_in(3 * MS) < 2 * US);
  for (uint32_t i = 0; i < 70; i++) { // now each burst has a second phase
    world_spun_in(10 * US);
    world_spun_in(1 * MS + test_random(&random) % (3 * MS));
  }
  CU_ASSERT_TRUE(world_about(world_spun_in(10 * US), 10 * US));
  CU_ASSERT_TRUE(world_spun_in(3 * MS) < world_pool.settings.spin_ns_max + 2 * US);
}

TEST_CASE(a_spin_that_is_interrupted_ends)
{
  world_begin(WS_SPIN_AUTO);
  world.taken_ns = 400 * US;
  CU_ASSERT_TRUE(world_spun_in(3 * MS) < 2 * US); // in the time of the interruption it had no CPU
  CU_ASSERT_EQUAL(world_count(&world_worker.queue.count.preempted), 1);
  world_begin(WS_SPIN_HOT);
  world.taken_ns = 400 * US;
  CU_ASSERT_TRUE(world_about(world_spun_in(3 * MS), 3 * MS - 400 * US)); // hot spinning was asked for
  CU_ASSERT_EQUAL(world_count(&world_worker.queue.count.preempted), 0);
}

TEST_CASE(a_real_time_spin_offers_its_cpu)
{
  for (uint32_t realtime = 0; realtime <= 1; realtime++) {
    for (uint32_t spin = WS_SPIN_AUTO; spin <= WS_SPIN_HOT; spin += WS_SPIN_HOT - WS_SPIN_AUTO) {
      world_begin((ws_spin_t)spin);
      world_worker.realtime = realtime;
      ws_sleep_worker(&world_worker)->rose_ns = world.now_ns;
      ws_pool_phase_begin(&world_pool, 1);
      CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(&world_pool, 100), 0);
      CU_ASSERT_TRUE(world_about(world_spun_in(300 * US), 300 * US)); // an offer costs little
      CU_ASSERT_EQUAL(world.offers >= 50 && world.offers <= 60, realtime);
      CU_ASSERT_EQUAL(world.offers == 0, !realtime);
      CU_ASSERT_EQUAL(world_count(&world_worker.queue.count.preempted), 0);
    }
  }
}

/// @return the allowance that a spin has used up
static int64_t charged_ns(uint64_t spun_ns, bool found)
{
  const int64_t before_ns = ws_spin_allow(&world_worker, world.now_ns);
  ws_spin_pay(&world_worker, spun_ns, found);
  return before_ns - ws_sleep_worker(&world_worker)->spin.allowance_ns;
}

TEST_CASE(a_spin_that_finds_work_saves_a_wake)
{
  world_begin(WS_SPIN_AUTO);
  world.now_ns += 100 * MS; // all that can be saved up
  ws_stat_store(&ws_sleep_pool(&world_pool)->call_ns, 9 * US);
  CU_ASSERT_EQUAL(charged_ns(60 * US, false), 60 * US);
  CU_ASSERT_EQUAL(charged_ns(60 * US, true), 60 * US - 2 * 9 * US);
  CU_ASSERT_EQUAL(charged_ns(24 * US, true), 8 * US); // a third of it
  CU_ASSERT_EQUAL(charged_ns(3 * US, true), 1 * US);
  ws_stat_store(&ws_sleep_pool(&world_pool)->call_ns, 0); // no wake was seen
  CU_ASSERT_EQUAL(charged_ns(24 * US, true), 24 * US);
}

/// A worker in debt that would not spin anyhow, or that is hot, has nothing to save up for.
TEST_CASE(a_spin_that_is_not_wanted_is_not_capped)
{
  for (uint32_t hot = 0; hot <= 1; hot++) {
    world_begin(hot ? WS_SPIN_HOT : WS_SPIN_AUTO);
    for (uint32_t i = 0; i < 100; i++)
      world_spun_in(hot ? 30 * US : 3 * MS); // learnt: something follows, or nothing
    const uint64_t before = world_count(&world_worker.queue.count.capped);
    for (uint32_t i = 0; i < 100; i++) {
      ws_spin_allow(&world_worker, world.now_ns);
      ws_spin_pay(&world_worker, 100 * MS, false);
      world_spun_in(hot ? 30 * US : 3 * MS);
    }
    CU_ASSERT_EQUAL(world_count(&world_worker.queue.count.capped), before);
  }
}

/// What counts is when the task came, not when the worker was awake.
TEST_CASE(a_gap_ends_with_the_call)
{
  world_begin(WS_SPIN_AUTO);
  for (uint32_t called = 0; called <= 1; called++) {
    ws_window_t *follows = &world_worker_prewake.follows[0];
    memset(&world_worker_prewake.follows, 0, sizeof(world_worker_prewake.follows));
    world_worker_prewake.follow = 0;
    world_worker_prewake.out_of_work_ns = world.now_ns;
    ws_idle_t idle = {.called_ns = called ? world.now_ns + 30 * US : 0}, *of_worker = &idle;
    world.now_ns += 35 * US;
    ws_search_begin(&world_worker);
    CU_ASSERT_TRUE(ws_idle_end(&world_worker, &of_worker));
    CU_ASSERT_FALSE(ws_idle_end(&world_worker, &of_worker)); // once
    CU_ASSERT_EQUAL_FATAL(follows->count, 1);
    CU_ASSERT_TRUE(world_about((uint64_t)follows->sorted[0], called ? 30 * US : 35 * US));
  }
  ws_idle_t idle = {.called_ns = world.now_ns}; // for another task: its search has found none
  ws_idle_go_on(&idle);
  CU_ASSERT_TRUE(idle.called_ns == 0 && idle.now_ns == world.now_ns);
}

/// A task each 36 us takes 10 us. The cap does not allow a spin in each gap: the worker spins to the end of a
/// gap, or hardly at all.
TEST_CASE(a_stream_of_tasks)
{
  enum { GAPS = 5000 };
  world_begin(WS_SPIN_AUTO);
  ws_stat_store(&ws_sleep_pool(&world_pool)->call_ns, 9 * US);
  uint32_t whole = 0, parts = 0;
  uint64_t capped = 0; // spins that were not begun
  for (uint32_t i = 0; i < 2 * GAPS; i++) {
    capped = i == GAPS ? world_count(&world_worker.queue.count.capped) : capped;
    const uint64_t before_ns = world_spun();
    world_gap(26 * US, 10 * US);
    const uint64_t spun_ns = world_spun() - before_ns;
    whole += i >= GAPS && spun_ns >= 25 * US;
    parts += i >= GAPS && spun_ns >= 4 * US && spun_ns < 25 * US;
  }
  CU_ASSERT_EQUAL(parts, 0);
  CU_ASSERT_EQUAL(world_count(&world_worker.queue.count.capped) - capped, GAPS - whole); // each of them
  CU_ASSERT_TRUE(10 * whole > 3 * GAPS && 10 * whole < 8 * GAPS);
}

/// @return bursts until the level is at the top
static uint32_t until_top(void)
{
  uint32_t gaps = 0;
  for (; ws_load_relaxed(&world_prewake.lowered) != 0 && gaps < 2000000; gaps++)
    world_gap(SLOT_NS, 50 * US);
  return gaps;
}

static void fall_to_nothing(void)
{
  for (uint32_t fall = 0; fall < WS_LEVEL_TOP; fall++)
    ws_prewake_throttled(&world_pool, 20 * MS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&world_prewake.lowered), WS_LEVEL_TOP);
}

TEST_CASE(trouble_lowers_the_level_and_its_absence_raises_it)
{
  world_begin(WS_SPIN_AUTO);
  fall_to_nothing();
  const uint32_t once = until_top();
  uint32_t last = once;
  for (uint32_t round = 0; round < 8; round++) {
    fall_to_nothing();
    const uint32_t clean = until_top();
    CU_ASSERT_TRUE(clean >= last && clean < 10000); // each time it takes longer, within bounds
    last = clean;
  }
  CU_ASSERT_TRUE(last > 3 * once);
  for (uint32_t i = 0; i < 100; i++) // long without: it is forgotten
    world_gap(1000 * MS, 50 * US);
  fall_to_nothing();
  CU_ASSERT_TRUE(until_top() < last / 2);
}

TEST_CASE(what_each_level_leaves)
{
  world_begin(WS_SPIN_AUTO);
  series_t series = world_slots(5 * US);
  world_bursts(&series, 100);
  CU_ASSERT_TRUE(world_plan() != 0);
  ws_prewake_disarm(&world_worker);
  ws_store_relaxed(&world_prewake.clean_ns, UINT64_MAX);
  for (uint32_t level = 0; level < WS_LEVEL_TOP; level++) {
    ws_store_relaxed(&world_prewake.lowered, WS_LEVEL_TOP - level);
    CU_ASSERT_EQUAL(world_plan(), 0);
    memset(world_worker_prewake.follows, 0, sizeof(world_worker_prewake.follows));
    CU_ASSERT_EQUAL(world_spun_in(SLOT_NS) > 1 * US, level > 0);
  }
}

/// A process that was stopped while it spun is not charged for that.
TEST_CASE(a_debt_is_bounded)
{
  world_begin(WS_SPIN_AUTO);
  ws_spin_allow(&world_worker, world.now_ns);
  ws_spin_pay(&world_worker, UINT64_C(3600000000000), false);
  CU_ASSERT_TRUE(ws_spin_allow(&world_worker, world.now_ns) <= 0);
  CU_ASSERT_TRUE(ws_spin_forecast(&world_worker, world.now_ns + 30000 * US) > 0);
}

/// A thread of normal class on its CPU gets a tenth of it, and waits for a millisecond at most.
TEST_CASE(hot_and_real_time_it_rests)
{
  world_begin(WS_SPIN_HOT);
  world_worker.realtime = true;
  uint64_t rested_ns = 0;
  for (uint32_t i = 0; i < 100; i++) {
    ws_sleep_worker(&world_worker)->rose_ns = world.now_ns;
    world.visible_ns = world.now_ns + 100 * MS;
    const uint64_t before_ns = world_spun();
    ws_idle_t idle = ws_idle_begin(&world_worker, true);
    CU_ASSERT_FALSE(ws_spin(&world_worker, &idle)); // it parks
    CU_ASSERT_TRUE(world_about(world_spun() - before_ns, 900 * US));
    const uint64_t retry_ns = ws_hot_retry_ns(&world_worker) - world.now_ns;
    CU_ASSERT_TRUE(world_about(retry_ns, 100 * US));
    rested_ns += retry_ns;
    world.now_ns += retry_ns;
  }
  CU_ASSERT_TRUE(11 * rested_ns > world_spun());
}

/// When a hot worker that had to park tries again.
TEST_CASE(hot_it_tries_again)
{
  world_begin(WS_SPIN_HOT);
  world_pool.workers = 3; // of which none is parked
  CU_ASSERT_TRUE(ws_hot_retry_ns(&world_worker) <= world.now_ns + LOOK_NS); // nothing is in the way any more
  world.producer_here = true;
  CU_ASSERT_TRUE(world_about(ws_hot_retry_ns(&world_worker) - world.now_ns, 4 * MS));
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->sleepers[0], 7); // together as often as one alone
  CU_ASSERT_TRUE(world_about(ws_hot_later_ns(&world_pool) - world.now_ns, 12 * MS));
  ws_store_relaxed(&world_pool.state, WS_DRAINING);
  CU_ASSERT_EQUAL(ws_hot_retry_ns(&world_worker), 0);
  ws_store_relaxed(&world_pool.state, WS_RUNNING);
  ws_store_relaxed(&ws_sleep_pool(&world_pool)->spin, WS_SPIN_AUTO);
  CU_ASSERT_EQUAL(ws_hot_retry_ns(&world_worker), 0);
}

TEST_MAIN_SEAMS("spin", world_seams())
