// SPDX-License-Identifier: BSD-3-Clause
/// @file test_late.c
/// The causes of late starts: of facts that are given, and of the counts of a pool.
#include <string.h>

#include "../../../prewake/ws_late.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define ARRIVAL_NS 1000000u
#define PERIOD_NS 500000u

/// A push called the worker at once, and the worker had no timer.
static ws_late_facts_t called(void)
{
  return (ws_late_facts_t){.arrival_ns = ARRIVAL_NS,
                           .found_ns = ARRIVAL_NS + 40000,
                           .slept_ns = ARRIVAL_NS - 400000,
                           .rose_ns = ARRIVAL_NS + 39000,
                           .called_ns = ARRIVAL_NS + 500,
                           .unset = WS_LATE_WAKE,
                           .gap_ns = PERIOD_NS,
                           .usual_gap_ns = PERIOD_NS};
}

/// A timer woke it, set for shortly before the burst.
static ws_late_facts_t timed(void)
{
  ws_late_facts_t facts = called();
  facts.called_ns = 0;
  facts.by_timer = true;
  facts.plan = (ws_plan_t){.rise_ns = ARRIVAL_NS - 10000, .expected_ns = ARRIVAL_NS};
  return facts;
}

static void a_worker_that_was_called(void)
{
  ws_late_facts_t facts = called();
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_WAKE);
  facts.beside = true;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_BUSY_CPU);
  for (ws_late_t why = WS_LATE_NO_PATTERN; why <= WS_LATE_CAP; why++) {
    facts.unset = why;
    CU_ASSERT_EQUAL(ws_late_cause(&facts), why);
  }
  facts.called_ns = ARRIVAL_NS + 25000;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_CALL);
}

static void a_worker_with_a_timer(void)
{
  ws_late_facts_t facts = timed();
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_TIMER);
  facts.beside = true;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_BUSY_CPU);
  facts.plan.rise_ns = ARRIVAL_NS + 1000;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_BURST_EARLY);
  facts.by_timer = false; // the push came first
  facts.called_ns = ARRIVAL_NS + 500;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_BURST_EARLY);
  facts = timed();
  facts.rose_ns = ARRIVAL_NS - 3000;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_CPU_TAKEN);
}

static void a_worker_that_slept_again(void)
{
  ws_late_facts_t facts = called();
  facts.unset = WS_LATE_NO_PATTERN;
  facts.gave_up =
      (ws_plan_t){.rise_ns = ARRIVAL_NS - 60000, .expected_ns = ARRIVAL_NS - 50000, .late_ns_max = 50000};
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_GAVE_UP);
  facts.gave_up.late_ns_max = 49999;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_BURST_LATE);
  facts.gave_up.expected_ns = ARRIVAL_NS + 1; // a later one: it says nothing of this burst
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_NO_PATTERN);
}

static void a_pause(void)
{
  ws_late_facts_t facts = called();
  facts.gap_ns = 4 * PERIOD_NS + 1;
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_PAUSE);
  facts.usual_gap_ns = 0; // no pattern: no pause from it
  CU_ASSERT_EQUAL(ws_late_cause(&facts), WS_LATE_WAKE);
}

static void every_cause_has_a_name(void)
{
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++) {
    CU_ASSERT_PTR_NOT_NULL_FATAL(ws_late_name((ws_late_t)i));
    for (uint32_t j = 0; j < i; j++)
      CU_ASSERT_STRING_NOT_EQUAL(ws_late_name((ws_late_t)i), ws_late_name((ws_late_t)j));
  }
  CU_ASSERT_PTR_NULL(ws_late_name(WS_LATE_CAUSES));
}

/// The bound settles where one in ten is above, whatever the size of the times.
static void one_in_ten_is_above_the_bound(void)
{
  enum { LEARN = 20000, COUNT = 20000 };
  for (uint64_t scale_ns = 1000; scale_ns <= 10000000; scale_ns *= 100) {
    ws_late_count_t count;
    memset(&count, 0, sizeof(count));
    uint64_t random = 7;
    uint32_t above = 0;
    for (uint32_t i = 0; i < LEARN + COUNT; i++) {
      const uint64_t late_ns = (uint64_t)(series_uniform(&random) * (double)scale_ns);
      above += ws_late_note(&count, late_ns) && i >= LEARN;
    }
    CU_ASSERT_TRUE(above > COUNT / 12 && above < COUNT / 8);
    CU_ASSERT_EQUAL(ws_load_relaxed(&count.starts), LEARN + COUNT); // relaxed: one thread
  }
}

/// All starts alike: the bound stays beside them, and at most one in ten counts as late.
static void equal_starts_are_seldom_late(void)
{
  ws_late_count_t count;
  memset(&count, 0, sizeof(count));
  uint32_t above = 0;
  for (uint32_t i = 0; i < 1000; i++)
    above += ws_late_note(&count, 5000);
  CU_ASSERT_TRUE(above <= 110);
  CU_ASSERT_TRUE(ws_load_relaxed(&count.bound_ns) <= 5500); // relaxed: one thread
}

/// Bursts of a pool whose workers set no timer. @return what it has counted
static ws_prewake_stats_t play(uint32_t bursts)
{
  ws_settings_t settings = test_settings(2);
  settings.spin = WS_SPIN_OFF;
  settings.spin_ns_max = 0;
  ws_pool_t *pool = test_create(&settings);
  ws_prewake_stats_t stats;
  test_gate_t gate;
  test_gate_init(&gate);
  for (uint32_t i = 0; i < bursts; i++) {
    test_push(pool, test_gate_task, &gate, NULL);
    CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 1));
    test_gate_let(&gate, 1);
    CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  }
  ws_pool_prewake_stats(pool, &stats);
  test_destroy(pool);
  test_gate_destroy(&gate);
  CU_ASSERT_TRUE(stats.started_bursts > 0 && stats.started_bursts <= bursts);
  return stats;
}

static uint64_t late_of(const ws_prewake_stats_t *stats)
{
  uint64_t late = 0;
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    late += stats->late_by[i];
  return late;
}

/// The first start is never late: there is none before with which it could be compared.
static void a_pool_counts_them(void)
{
  const ws_prewake_stats_t stats = play(10);
  CU_ASSERT_TRUE(late_of(&stats) < stats.started_bursts);
}

/// The worker slept, was called late, or was awake. A machine that stops this thread makes a pause.
static void causes_without_timers(void)
{
  const ws_prewake_stats_t stats = play(60);
  CU_ASSERT_EQUAL(late_of(&stats), stats.late_by[WS_LATE_LEVEL] + stats.late_by[WS_LATE_CALL]
                                       + stats.late_by[WS_LATE_CPU_TAKEN] + stats.late_by[WS_LATE_PAUSE]);
}

TEST_MAIN("late", TEST_CASE(a_worker_that_was_called), TEST_CASE(a_worker_with_a_timer),
          TEST_CASE(a_worker_that_slept_again), TEST_CASE(a_pause), TEST_CASE(every_cause_has_a_name),
          TEST_CASE(one_in_ten_is_above_the_bound), TEST_CASE(equal_starts_are_seldom_late),
          TEST_CASE(a_pool_counts_them), TEST_ALONE(causes_without_timers))
