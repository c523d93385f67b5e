// SPDX-License-Identifier: BSD-3-Clause
/// @file test_late.c
/// The causes of late starts: of facts that are given, and of the counts of a pool.
#include <string.h>

#include "../../../prewake/ws_late.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define ARRIVAL_NS 1000000u
#define PERIOD_NS 500000u

/// Times are after the burst; 0 = there is none.
typedef struct {
  ws_late_t cause;
  bool beside; ///< another thread had its CPU
  bool by_timer;
  int32_t rise_ns; ///< of its timer, which was set for the burst
  int32_t rose_ns, called_ns;
  int32_t gave_up_ns, late_ns_max; ///< it slept again before the burst, which it had expected then
  uint32_t gap_ns, usual_gap_ns;
} row_t;

static ws_late_facts_t facts_of(const row_t *row, ws_late_t unset)
{
  const uint64_t at_ns = ARRIVAL_NS;
  ws_late_facts_t facts = {.arrival_ns = at_ns,
                           .found_ns = at_ns + 40000,
                           .slept_ns = at_ns - 400000,
                           .rose_ns = at_ns + (uint64_t)(int64_t)row->rose_ns,
                           .called_ns = row->called_ns ? at_ns + (uint64_t)(int64_t)row->called_ns : 0,
                           .unset = unset,
                           .beside = row->beside,
                           .by_timer = row->by_timer,
                           .gap_ns = row->gap_ns,
                           .usual_gap_ns = row->usual_gap_ns};
  if (row->rise_ns)
    facts.plan = (ws_plan_t){.rise_ns = at_ns + (uint64_t)(int64_t)row->rise_ns, .expected_ns = at_ns};
  if (row->gave_up_ns)
    facts.gave_up = (ws_plan_t){.rise_ns = at_ns - 60000,
                                .expected_ns = at_ns + (uint64_t)(int64_t)row->gave_up_ns,
                                .late_ns_max = row->late_ns_max};
  return facts;
}

static void the_cause_follows_from_the_facts(void)
{
  static const row_t rows[] = {
      {WS_LATE_WAKE, false, false, 0, 39000, 500, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_BUSY_CPU, true, false, 0, 39000, 500, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_CALL, true, false, 0, 39000, 25000, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_TIMER, false, true, -10000, 39000, 0, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_BUSY_CPU, true, true, -10000, 39000, 0, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_CPU_TAKEN, false, true, -10000, -3000, 0, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_BURST_EARLY, true, true, 1000, 39000, 0, 0, 0, PERIOD_NS, PERIOD_NS},
      {WS_LATE_BURST_EARLY, true, false, 1000, 39000, 500, 0, 0, PERIOD_NS, PERIOD_NS}, // the push came first
      {WS_LATE_GAVE_UP, false, false, 0, 39000, 500, -50000, 50000, PERIOD_NS, PERIOD_NS},
      {WS_LATE_BURST_LATE, false, false, 0, 39000, 500, -50000, 49999, PERIOD_NS, PERIOD_NS},
      {WS_LATE_WAKE, false, false, 0, 39000, 500, 1, 49999, PERIOD_NS, PERIOD_NS}, // it expected a later one
      {WS_LATE_PAUSE, false, false, 0, 39000, 500, 0, 0, 4 * PERIOD_NS + 1, PERIOD_NS},
      {WS_LATE_WAKE, false, false, 0, 39000, 500, 0, 0, 4 * PERIOD_NS + 1, 0}, // no pattern: no pause from it
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_late_facts_t facts = facts_of(&rows[i], WS_LATE_WAKE);
    CU_ASSERT_EQUAL(ws_late_cause(&facts), rows[i].cause);
  }
  for (ws_late_t why = WS_LATE_NO_PATTERN; why <= WS_LATE_CAP; why++) {
    const ws_late_facts_t facts = facts_of(&rows[1], why);
    CU_ASSERT_EQUAL(ws_late_cause(&facts), why);
  }
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

/// Bursts of a pool whose workers set no timer. The first start is never late: there is none before with
/// which it could be compared.
static void a_pool_counts_them(void)
{
  enum { BURSTS = 10 };
  ws_settings_t settings = test_settings(2);
  settings.spin = WS_SPIN_OFF;
  settings.spin_ns_max = 0;
  ws_pool_t *pool = test_create(&settings);
  for (uint32_t i = 0; i < BURSTS; i++) {
    ws_group_t group;
    ws_group_init(&group, 1);
    test_push(pool, test_empty_task, NULL, &group);
    ws_group_wait(&group, NULL); // a worker runs it
    CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
  }
  ws_prewake_stats_t stats;
  ws_pool_prewake_stats(pool, &stats);
  test_destroy(pool);
  uint64_t late = 0;
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    late += stats.late_by[i];
  CU_ASSERT_TRUE(stats.started_bursts > 0 && stats.started_bursts <= BURSTS);
  CU_ASSERT_TRUE(late < stats.started_bursts);
}

TEST_MAIN("late", TEST_CASE(the_cause_follows_from_the_facts), TEST_CASE(every_cause_has_a_name),
          TEST_CASE(one_in_ten_is_above_the_bound), TEST_CASE(equal_starts_are_seldom_late),
          TEST_CASE(a_pool_counts_them))
