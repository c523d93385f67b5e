// SPDX-License-Identifier: BSD-3-Clause
/// @file test_arrival.c
/// When work counts as the first after a pause, and how many workers have taken of it (ws_prewake.h).
#include "../../../prewake/ws_prewake.h"

#include "../../support/ws_made_up.h"
#include "../../support/ws_series.h"

#define BOUND_NS 40000u
#define FIRST_NS 1000000u
#define WORKERS 4u

/// A pool whose workers have run out of work long before FIRST_NS, and a burst that came then.
static void begin(void)
{
  make_up_pool(WORKERS);
  pool.settings.spin_ns_max = BOUND_NS;
  ws_store_relaxed(&prewake.out_of_work_ns, 1000);
  ws_store_relaxed(&pool.quiet, 1);
  ws_prewake_arrived(&pool, FIRST_NS);
}

static void arrives(uint64_t at_ns)
{
  ws_store_relaxed(&pool.quiet, 1);
  ws_prewake_arrived(&pool, at_ns);
}

static uint64_t arrival_ns(void)
{
  return ws_load_relaxed(&prewake.arrival_ns);
}

/// Short for the tables.
#define F FIRST_NS
#define B BOUND_NS
#define H (10 * FIRST_NS) ///< of a hint, which is valid until H + 10 * B
enum { NONE, PUSHED, AFTER_PAUSE, OUT_OF_WORK, HINT, HINT_AFTER_PAUSE };

typedef struct {
  uint32_t what;
  uint64_t at_ns, arrival_ns; ///< the arrival that is known after it
} step_t;

static void take(const step_t *step)
{
  if (step->what == AFTER_PAUSE || step->what == HINT_AFTER_PAUSE)
    ws_store_relaxed(&pool.quiet, 1);
  if (step->what == OUT_OF_WORK)
    ws_store_relaxed(&prewake.out_of_work_ns, step->at_ns);
  else if (step->what == HINT || step->what == HINT_AFTER_PAUSE)
    ws_prewake_announced(&pool, step->at_ns, step->at_ns + 10 * B);
  else
    ws_prewake_arrived(&pool, step->at_ns);
}

/// Those who have started count from a new arrival on.
TEST_CASE(what_is_the_arrival_of_a_burst)
{
  static const step_t rows[][3] = {
      // no pause has been noted
      {{PUSHED, 10 * F, F}},
      // a worker that began to spin before the burst notes a pause while tasks are pushed
      {{AFTER_PAUSE, F + 2000, F}, {AFTER_PAUSE, F + B - 1, F}},
      // the next phase is of the same burst
      {{OUT_OF_WORK, F + 3 * B, F}, {AFTER_PAUSE, F + 4 * B - 1, F}, {AFTER_PAUSE, F + 4 * B, F + 4 * B}},
      // the thread that pushes runs all tasks itself: no worker runs out of work
      {{AFTER_PAUSE, F + B, F + B}},
      // the hint has workers awake by the time of the push: so it is what a worker can be late for
      {{HINT_AFTER_PAUSE, H, H}, {AFTER_PAUSE, H + 5 * B, H}, {AFTER_PAUSE, H + 7 * B, H + 7 * B}},
      {{HINT_AFTER_PAUSE, H, H}, {HINT_AFTER_PAUSE, H + 8 * B, H}, {AFTER_PAUSE, H + 17 * B, H}},
      // a push that comes too late, or after other work, is a burst of its own
      {{HINT_AFTER_PAUSE, H, H}, {AFTER_PAUSE, H + 10 * B + 1, H + 10 * B + 1}},
      {{HINT_AFTER_PAUSE, H, H}, {OUT_OF_WORK, H + B, H}, {AFTER_PAUSE, H + 3 * B, H + 3 * B}},
      // while workers are at work a hint announces the next phase of the slot
      {{HINT, H, F}, {AFTER_PAUSE, H + B, H + B}},
      {{OUT_OF_WORK, H - B / 2, F}, {HINT_AFTER_PAUSE, H, F}, {AFTER_PAUSE, H + 5 * B, F}},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin();
    for (uint32_t k = 0; k < 3 && rows[i][k].what != NONE; k++) {
      const uint64_t before_ns = arrival_ns();
      ws_store_relaxed(&prewake.starters, 7);
      take(&rows[i][k]);
      CU_ASSERT_EQUAL(arrival_ns(), rows[i][k].arrival_ns);
      CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starters), arrival_ns() == before_ns ? 7 : 0);
    }
  }
}

/// A worker has been idle for some time, while a burst was handed to others. It need not ask again once there
/// is a pause, which begins when the last work ends. Before that a push reads no clock.
TEST_CASE(an_idle_worker_reports_a_pause_when_there_is_one)
{
  static const struct {
    uint64_t out_of_work_ns, at_ns, again_ns;
    bool quiet;
  } rows[] = {{0, F + 1, F + B, false},
              {0, F + B - 1, F + B, false},
              {0, F + B, UINT64_MAX, true},
              {F + 3 * B, F + B, F + 4 * B, false},
              {F + 3 * B, F + 4 * B, UINT64_MAX, true}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin();
    ws_store_relaxed(&prewake.out_of_work_ns, rows[i].out_of_work_ns);
    CU_ASSERT_EQUAL(ws_prewake_idle(&pool, rows[i].at_ns), rows[i].again_ns);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool.quiet), rows[i].quiet);
    ws_prewake_arrived(&pool, rows[i].at_ns);
    CU_ASSERT_EQUAL(arrival_ns(), rows[i].quiet ? rows[i].at_ns : F);
  }
}

// Takers: who has taken of a burst is counted when the next one is learnt.

#define PERIOD_NS 500000u
#define BURSTS 400u

static void finds(uint32_t worker, uint64_t at_ns)
{
  ws_prewake_found(&workers[worker], at_ns, PERIOD_NS);
}

/// The first of a burst notes how late it is, also if others find tasks of the burst before it has done so.
TEST_CASE(one_worker_notes_when_a_burst_began)
{
  begin();
  for (uint32_t i = 0; i < 3; i++)
    finds(i, FIRST_NS + 100 + i);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starts), 1);
  arrives(FIRST_NS + PERIOD_NS);
  for (uint32_t i = 0; i < 3; i++) {
    ws_store_relaxed(&prewake.started_ns, FIRST_NS); // the first has not noted it yet
    finds(i, FIRST_NS + PERIOD_NS + 100);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starters), 3);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starts), 2);
}

/// @return of 20,000 bursts, after as many others, how many take longer to start than the percentile
static uint32_t above_percentile(double scale_ns)
{
  uint64_t random = 7;
  uint32_t above = 0;
  begin();
  for (uint64_t i = 1; i <= 40000; i++) {
    const uint64_t took_ns = (uint64_t)(series_uniform(&random) * scale_ns);
    above += i > 20000 && took_ns > ws_load_relaxed(&prewake.start_p90_ns);
    ws_start_note(&pool, i, i + took_ns);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starts), 40000);
  return above;
}

/// It settles there, whatever the size of the times.
TEST_CASE(one_start_in_ten_is_above_the_percentile)
{
  for (double scale_ns = 1000; scale_ns <= 1e7; scale_ns *= 100) {
    const uint32_t above = above_percentile(scale_ns);
    CU_ASSERT_TRUE(above > 1600 && above < 2500);
  }
}

TEST_CASE(a_pool_counts_starts)
{
  ws_settings_t settings = test_settings(2);
  settings.spin_ns_max = 0;
  ws_pool_t *counted = test_create(&settings);
  for (uint32_t i = 0; i < 10; i++) {
    test_on_workers(counted, 1, test_empty_task, NULL);
    CU_ASSERT_TRUE_FATAL(test_until_quiet(counted));
  }
  ws_prewake_stats_t stats;
  ws_pool_prewake_stats(counted, &stats);
  CU_ASSERT_TRUE(stats.started_bursts > 0 && stats.started_bursts <= 10 && stats.late_ns_p90 > 0);
  test_destroy(counted);
}

/// Play bursts of a pattern, until it is long known. @p learn_first  a worker learns of a burst before others
/// have found tasks of it
static void play(void (*burst)(uint32_t number, uint64_t at_ns), bool learn_first)
{
  begin();
  for (uint32_t i = 1; i <= BURSTS; i++) {
    const uint64_t at_ns = FIRST_NS + (uint64_t)i * PERIOD_NS;
    ws_store_relaxed(&prewake.out_of_work_ns, at_ns - PERIOD_NS / 2);
    arrives(at_ns);
    if (learn_first)
      ws_rhythm_update(&pool, at_ns + 50);
    burst(i, at_ns + 100);
    ws_rhythm_update(&pool, at_ns + 1000);
  }
  CU_ASSERT_EQUAL_FATAL(prewake.rhythm.model.phases, 1);
}

/// 10 x the least + the greatest number of takers of a phase's bursts, lately.
static int64_t takers_of_phase(uint32_t phase)
{
  const ws_window_t *counted = &prewake.rhythm.takers[phase];
  CU_ASSERT_EQUAL(counted->count, WS_WINDOW_SAMPLES);
  return 10 * ws_window_quantile(counted, 0) + ws_window_quantile(counted, 1000);
}

static void three_find(uint32_t number, uint64_t at_ns)
{
  for (uint32_t i = 0; i < 3; i++)
    finds(i, at_ns);
}

static void two_or_one_find(uint32_t number, uint64_t at_ns)
{
  finds(number % 2, at_ns);
  if (number % 2 == 0)
    finds(2, at_ns);
}

/// Worker 1 took of the first bursts only.
static void one_finds(uint32_t number, uint64_t at_ns)
{
  finds(0, at_ns);
  if (number < 3)
    finds(1, at_ns);
}

static void two_find_and_one_takes_more(uint32_t number, uint64_t at_ns)
{
  finds(0, at_ns);
  finds(1, at_ns);
  ws_prewake_took_more(&workers[1]);
}

static void all_take_much_more(uint32_t number, uint64_t at_ns)
{
  for (uint32_t i = 0; i < WORKERS; i++) {
    finds(i, at_ns);
    ws_prewake_took_more(&workers[i]);
  }
}

/// The next phase of a slot is no burst of its own: it comes after a gap that is no pause.
static void one_finds_the_next_phase(uint32_t number, uint64_t at_ns)
{
  three_find(number, at_ns);
  ws_prewake_found(&workers[3], at_ns + 5000, BOUND_NS - 1);
}

/// A worker that took a task of the burst is counted once.
static void the_first_finds_the_next_phase(uint32_t number, uint64_t at_ns)
{
  three_find(number, at_ns);
  ws_prewake_found(&workers[0], at_ns + 5000, BOUND_NS - 1);
}

/// The thread that pushes has run all tasks itself.
static void none_finds(uint32_t number, uint64_t at_ns) {}

/// Whether a worker learns of a burst before others have found tasks of it, or after. Of tasks that had to
/// wait, a worker more could have run each, if the pool has it.
TEST_CASE(workers_that_took_tasks_of_a_burst_are_counted)
{
  static const struct {
    void (*burst)(uint32_t number, uint64_t at_ns);
    int64_t takers;
  } rows[] = {{none_finds, 0},
              {one_finds, 11},
              {two_or_one_find, 12},
              {three_find, 33},
              {two_find_and_one_takes_more, 33},
              {all_take_much_more, 11 * WORKERS},
              {one_finds_the_next_phase, 33},
              {the_first_finds_the_next_phase, 33}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++)
    for (uint32_t learn_first = 0; learn_first <= 1; learn_first++) {
      play(rows[i].burst, learn_first);
      CU_ASSERT_EQUAL(takers_of_phase(0), rows[i].takers);
    }
}

/// Bursts of one and of three takers, by turns, after gaps that are unlike.
TEST_CASE(each_phase_has_its_takers)
{
  begin();
  uint64_t at_ns = FIRST_NS;
  for (uint32_t i = 1; i <= BURSTS; i++) {
    at_ns += i % 2 == 0 ? PERIOD_NS : 3 * PERIOD_NS;
    ws_store_relaxed(&prewake.out_of_work_ns, at_ns - PERIOD_NS / 2);
    arrives(at_ns);
    for (uint32_t k = 0; k < (i % 2 == 0 ? 3u : 1u); k++)
      finds(k, at_ns + 100);
    ws_rhythm_update(&pool, at_ns + 1000);
  }
  CU_ASSERT_EQUAL_FATAL(prewake.rhythm.model.phases, 2);
  CU_ASSERT_TRUE(prewake.rhythm.outlook.arrived.phase >= 0); // the last burst: of three takers
  CU_ASSERT_EQUAL(takers_of_phase((uint32_t)prewake.rhythm.outlook.arrived.phase), 33);
  CU_ASSERT_EQUAL(takers_of_phase(1 - (uint32_t)prewake.rhythm.outlook.arrived.phase), 11);
  const uint64_t absent = prewake.rhythm.outlook.absent_bursts;
  at_ns += 5 * 4 * PERIOD_NS; // and no worker has looked meanwhile
  arrives(at_ns);
  ws_rhythm_update(&pool, at_ns + 1000);
  CU_ASSERT_EQUAL(prewake.rhythm.outlook.absent_bursts - absent, 5 + 4);
}

TEST_CASE(an_outlook_that_is_being_written_has_no_phases)
{
  play(three_find, false);
  ws_outlook_t outlook;
  CU_ASSERT_TRUE(ws_rhythm_read(&prewake, true, &outlook));
  CU_ASSERT_EQUAL(outlook.phases, 1);
  ws_add_relaxed(&prewake.outlook_sequence, 1);
  CU_ASSERT_FALSE(ws_rhythm_read(&prewake, true, &outlook));
  CU_ASSERT_EQUAL(outlook.phases, 0);
}

TEST_MAIN("arrival")
