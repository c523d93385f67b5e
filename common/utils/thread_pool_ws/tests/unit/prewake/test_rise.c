// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rise.c
/// When a timer wakes a worker, in each mode, and when not. In a world of its own (ws_world.h).
#include "../../../prewake/ws_prewake.h"
#include "../../support/ws_world.h"

TEST_CASE(at_the_time_announced)
{
  world_begin(WS_SPIN_OFF);
  for (uint32_t i = 0; i < 20; i++)
    world_spun_in(3 * MS);
  world.late_ns = 0;
  ws_pool_prewake_at(&world_pool, 1, world.now_ns + 2 * MS);
  world_gap(2 * MS, 50 * US);
  CU_ASSERT_EQUAL(world.rises, 1);
  CU_ASSERT_TRUE(world.late_ns < 1 * US);
  world_gap(2 * MS, 50 * US); // it has passed
  CU_ASSERT_EQUAL(world.rises, 1);
}

/// A call that announces a time in the future is not the arrival of a burst. The others are: a time that has
/// passed, or is a mistake, is now.
TEST_CASE(which_hints_announce)
{
  for (uint32_t hint = 0; hint < 6; hint++) {
    world_begin(WS_SPIN_OFF);
    ws_store_relaxed(&world_pool.quiet, 1);
    const uint64_t before_ns = world.now_ns;
    const uint64_t at_ns[] = {0, before_ns, UINT64_MAX, before_ns + MS};
    if (hint == 0)
      ws_pool_prewake(&world_pool, 1, US);
    else if (hint == 1)
      ws_pool_phase_begin(&world_pool, 1);
    else
      ws_pool_prewake_at(&world_pool, 1, at_ns[hint - 2]);
    CU_ASSERT_EQUAL(ws_load_relaxed(&world_prewake.arrival_ns) >= before_ns, hint < 5);
  }
}

/// For each burst of a pattern the worker is awake, and spins for a tenth of the time at most.
TEST_CASE(auto_wakes_after_a_few_bursts)
{
  static const char *const patterns[] = {"U", "DDDSUUDDSU", "DDDDDDDDUU"};
  for (uint32_t i = 0; i < TEST_COUNT(patterns); i++) {
    world_begin(WS_SPIN_AUTO);
    series_t series = series_of(patterns[i], 5 * US, series_seed());
    series.start_ns = world.now_ns + SLOT_NS;
    world_bursts(&series, 40);
    CU_ASSERT_TRUE(world.rises > 0);
    world_bursts(&series, 110);
    const uint32_t before = world.rises;
    const uint64_t spun = world_spun(), start_ns = world.now_ns;
    CU_ASSERT_TRUE(world_bursts(&series, 200) / 200 < world.waking_ns / 10);
    CU_ASSERT_TRUE(world.rises - before > 190 && world.rises - before < 210);
    CU_ASSERT_TRUE((world_spun() - spun) * 10 < world.now_ns - start_ns);
    const ws_counters_t *count = &world_worker.queue.count;
    CU_ASSERT_TRUE(world_count(&count->hits) + world_count(&count->lates) > 180);
    CU_ASSERT_TRUE(world_count(&count->misses) < 40);
  }
}

/// Where no timer wakes the worker ahead of a burst: in mode off; where wakes are short and bursts come at
/// random; and without a share of the CPU for it: then the timer fires when the burst comes, not before.
TEST_CASE(where_none_wakes_ahead)
{
  static const struct {
    ws_spin_t spin;
    uint64_t waking_ns, jitter_ns;
    uint32_t percent, rises_max;
  } rows[] = {{WS_SPIN_OFF, 20 * US, 5 * US, 100, 0},
              {WS_SPIN_AUTO, 2 * US, 100 * US, 100, 19},
              {WS_SPIN_AUTO, 20 * US, 5 * US, 0, 200}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    world_begin(rows[i].spin);
    world.waking_ns = rows[i].waking_ns;
    CU_ASSERT_EQUAL(ws_pool_set_spin_cpu_max(&world_pool, rows[i].percent), 0);
    series_t series = world_slots(rows[i].jitter_ns);
    const uint64_t late_ns = world_bursts(&series, 200);
    CU_ASSERT_TRUE(world.rises <= rows[i].rises_max);
    CU_ASSERT_TRUE(rows[i].percent > 0 || world_spun() == 0);
    CU_ASSERT_TRUE(rows[i].spin != WS_SPIN_OFF || late_ns >= 200 * world.waking_ns);
  }
}

/// Even for a fixed lead no timer is set when no bursts come.
TEST_CASE(fixed_stops_when_bursts_do)
{
  world_begin(WS_SPIN_FIXED);
  CU_ASSERT_EQUAL(ws_pool_set_spin(&world_pool, WS_SPIN_FIXED, 30 * US), 0);
  series_t series = world_slots(0);
  world_bursts(&series, 100);
  uint32_t rises = 0;
  for (uint64_t alarm_ns; rises < 1000 && (alarm_ns = world_plan()) != 0; rises++) {
    world.now_ns = alarm_ns > world.now_ns ? alarm_ns : world.now_ns + US;
    world_wake(WS_WAKE_TIMER);
    world.now_ns += 200 * US; // it looks, and gives up
  }
  CU_ASSERT_TRUE(rises > 0 && rises < 200);
}

TEST_CASE(fixed_wakes_when_told)
{
  static const uint64_t leads_ns[] = {0, 30 * US, 100 * US};
  for (uint32_t i = 0; i < TEST_COUNT(leads_ns); i++) {
    world_begin(WS_SPIN_FIXED);
    CU_ASSERT_EQUAL(ws_pool_set_spin(&world_pool, WS_SPIN_FIXED, leads_ns[i]), 0);
    series_t series = world_slots(0);
    world_bursts(&series, 60);
    const uint64_t alarm_ns = world_plan();
    CU_ASSERT_TRUE(world_about(alarm_ns + leads_ns[i] - series.last_ns, SLOT_NS));
  }
}

static bool plans(void)
{
  const bool planned = world_plan() != 0;
  ws_prewake_disarm(&world_worker);
  return planned;
}

TEST_CASE(a_new_mode_holds_at_once)
{
  world_begin(WS_SPIN_AUTO);
  series_t series = world_slots(5 * US);
  world_bursts(&series, 100);
  CU_ASSERT_TRUE(plans());
  CU_ASSERT_EQUAL(ws_pool_set_spin(&world_pool, WS_SPIN_OFF, 0), 0);
  CU_ASSERT_FALSE(plans());
  const uint32_t before = world.rises;
  world_bursts(&series, 20);
  CU_ASSERT_EQUAL(world.rises, before);
  CU_ASSERT_EQUAL(ws_pool_set_spin(&world_pool, WS_SPIN_AUTO, 0), 0);
  CU_ASSERT_TRUE(plans()); // what was learnt stays
  world_bursts(&series, 20);
  CU_ASSERT_TRUE(world.rises > before + 15);
  CU_ASSERT_EQUAL(ws_pool_set_spin(&world_pool, WS_SPIN_HOT, 0), 0);
  CU_ASSERT_TRUE(world_about(world_spun_in(3 * MS), 3 * MS));
}

TEST_MAIN_SEAMS("rise", world_seams())
