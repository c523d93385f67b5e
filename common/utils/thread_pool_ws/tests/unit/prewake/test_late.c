// SPDX-License-Identifier: BSD-3-Clause
/// @file test_late.c
/// The causes of late starts: of what a worker remembers, and in the counts of a pool.

#include "../../../prewake/ws_prewake_state.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_series.h"

#define ARRIVAL_NS 1000000u
#define PERIOD_NS 500000u

static struct ws_pool_s pool;
static ws_prewake_pool_t prewake;
static ws_worker_t worker;
static ws_prewake_worker_t own;

static int32_t ws_os_cpu_seam(void)
{
  return 0;
}
static uint64_t called_ns; ///< of the worker; 0 = it was not called

static void begin(void)
{
  memset(&pool, 0, sizeof(pool));
  memset(&prewake, 0, sizeof(prewake));
  memset(&worker, 0, sizeof(worker));
  memset(&own, 0, sizeof(own));
  pool.prewake = &prewake;
  worker.pool = &pool;
  worker.prewake = &own;
  own.unset = WS_LATE_WAKE;
  called_ns = 0;
}

/// A burst comes, and the worker takes its first task. @return whether that counts as late
static bool starts(uint64_t arrival_ns, uint64_t late_ns, ws_late_t cause)
{
  const uint64_t before = ws_load_relaxed(&prewake.late_by[cause]); // relaxed: one thread
  ws_store_relaxed(&prewake.arrival_ns, arrival_ns);
  ws_late_start(&worker, arrival_ns, arrival_ns + late_ns, called_ns);
  return ws_load_relaxed(&prewake.late_by[cause]) > before; // relaxed: one thread
}

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

static uint64_t after(int32_t ns)
{
  return ARRIVAL_NS * 10 + (uint64_t)(int64_t)ns;
}

/// A burst that starts at once, and then one that starts 40 us late.
static bool is_the_cause(const row_t *row, ws_late_t unset, ws_late_t cause)
{
  begin();
  starts(after(0) - row->gap_ns, 0, cause);
  // The published outlook has one word that is not zero.
  ws_store_relaxed(&prewake.outlook[offsetof(ws_outlook_t, gap_ns) / sizeof(uint64_t)], row->usual_gap_ns);
  ws_store_relaxed(&pool.near.producer, row->beside ? 1 : 2);
  own.rose_ns = after(row->rose_ns);
  called_ns = row->called_ns ? after(row->called_ns) : 0;
  own.unset = unset;
  own.by_timer = row->by_timer;
  if (row->rise_ns)
    own.plan = (ws_plan_t){.rise_ns = after(row->rise_ns), .expected_ns = after(0)};
  if (row->gave_up_ns)
    own.gave_up = (ws_plan_t){
        .rise_ns = after(-60000), .expected_ns = after(row->gave_up_ns), .late_ns_max = row->late_ns_max};
  return starts(after(0), 40000, cause);
}

TEST_CASE(the_cause_follows_from_the_facts)
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
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++)
    CU_ASSERT_TRUE(is_the_cause(&rows[i], WS_LATE_WAKE, rows[i].cause));
  for (ws_late_t why = WS_LATE_NO_PATTERN; why <= WS_LATE_CAP; why++)
    CU_ASSERT_TRUE(is_the_cause(&rows[1], why, why));
}

TEST_CASE(every_cause_has_a_name)
{
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++) {
    CU_ASSERT_PTR_NOT_NULL_FATAL(ws_late_name((ws_late_t)i));
    for (uint32_t j = 0; j < i; j++)
      CU_ASSERT_STRING_NOT_EQUAL(ws_late_name((ws_late_t)i), ws_late_name((ws_late_t)j));
  }
  CU_ASSERT_PTR_NULL(ws_late_name(WS_LATE_CAUSES));
}

/// The bound settles where one in ten is above, whatever the size of the times.
TEST_CASE(one_in_ten_is_above_the_bound)
{
  enum { LEARN = 20000, COUNT = 20000 };
  for (uint64_t scale_ns = 1000; scale_ns <= 10000000; scale_ns *= 100) {
    uint64_t random = 7;
    uint32_t above = 0;
    begin();
    for (uint32_t i = 0; i < LEARN + COUNT; i++) {
      const uint64_t late_ns = (uint64_t)(series_uniform(&random) * (double)scale_ns);
      above += starts(1 + i, late_ns, WS_LATE_CPU_TAKEN) && i >= LEARN;
    }
    CU_ASSERT_TRUE(above > COUNT / 12 && above < COUNT / 8);
    CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starts), LEARN + COUNT); // relaxed: one thread
  }
}

/// All starts alike: the bound stays beside them, and at most one in ten counts as late.
TEST_CASE(equal_starts_are_seldom_late)
{
  uint32_t above = 0;
  begin();
  for (uint32_t i = 0; i < 1000; i++)
    above += starts(1 + i, 5000, WS_LATE_CPU_TAKEN);
  CU_ASSERT_TRUE(above <= 110);
  CU_ASSERT_TRUE(ws_load_relaxed(&prewake.late_ns) <= 5500); // relaxed: one thread
}

/// Bursts of a pool whose workers set no timer. The first start is never late: there is none before with
/// which it could be compared.
TEST_CASE(a_pool_counts_them)
{
  enum { BURSTS = 10 };
  ws_settings_t settings = test_settings(2);
  settings.spin = WS_SPIN_OFF;
  settings.spin_ns_max = 0;
  ws_pool_t *counted = test_create(&settings);
  for (uint32_t i = 0; i < BURSTS; i++) {
    test_on_workers(counted, 1, test_empty_task, NULL);
    CU_ASSERT_TRUE_FATAL(test_until_quiet(counted));
  }
  ws_prewake_stats_t stats;
  ws_pool_prewake_stats(counted, &stats);
  test_destroy(counted);
  uint64_t late = 0;
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    late += stats.late_by[i];
  CU_ASSERT_TRUE(stats.started_bursts > 0 && stats.started_bursts <= BURSTS);
  CU_ASSERT_TRUE(late < stats.started_bursts);
}

TEST_MAIN_SEAMS("late", SEAM(ws_os_cpu))
