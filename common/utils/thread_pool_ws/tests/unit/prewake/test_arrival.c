// SPDX-License-Identifier: BSD-3-Clause
/// @file test_arrival.c
/// When work counts as the first after a pause, and how many workers have taken of it (ws_prewake.h).
#include "../../../prewake/ws_prewake.h"

#include <string.h>

#include "../../../prewake/ws_prewake_state.h"
#include "../../../prewake/ws_rhythm.h"
#include "../../support/ws_test.h"

#define BOUND_NS 40000u
#define FIRST_NS 1000000u
#define WORKERS 4u

static struct ws_pool_s pool;
static ws_prewake_pool_t prewake;
static ws_worker_t workers[WORKERS], *worker_of[WORKERS];
static ws_prewake_worker_t prewakes[WORKERS];

/// A pool whose workers have run out of work long before FIRST_NS, and a burst that came then.
static void begin(void)
{
  memset(&pool, 0, sizeof(pool));
  memset(&prewake, 0, sizeof(prewake));
  memset(workers, 0, sizeof(workers));
  memset(prewakes, 0, sizeof(prewakes));
  for (uint32_t i = 0; i < WORKERS; i++) {
    worker_of[i] = &workers[i];
    workers[i].pool = &pool;
    workers[i].prewake = &prewakes[i];
    workers[i].index = i;
  }
  pool.worker = worker_of;
  pool.workers = WORKERS;
  pool.prewake = &prewake;
  pool.settings.spin_ns_max = BOUND_NS;
  ws_store_relaxed(&prewake.out_of_work_ns, 1000);
  ws_prewake_quiet(&pool);
  ws_prewake_arrived(&pool, FIRST_NS);
}

static void arrives(uint64_t at_ns)
{
  ws_prewake_quiet(&pool);
  ws_prewake_arrived(&pool, at_ns);
}

static uint64_t arrival_ns(void)
{
  return ws_load_relaxed(&prewake.arrival_ns);
}

static void only_after_quiet(void)
{
  begin();
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
  ws_prewake_arrived(&pool, 10 * FIRST_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
}

/// A worker that began to spin before the burst notes a pause while tasks are pushed. None has run out of
/// work since.
static void a_burst_arrives_once(void)
{
  begin();
  ws_store_relaxed(&prewake.starters, 7);
  arrives(FIRST_NS + 2000);
  arrives(FIRST_NS + BOUND_NS - 1);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starters), 7);
}

static void the_next_phase_is_of_the_same_burst(void)
{
  begin();
  ws_store_relaxed(&prewake.out_of_work_ns, FIRST_NS + 3 * BOUND_NS);
  arrives(FIRST_NS + 4 * BOUND_NS - 1);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
  arrives(FIRST_NS + 4 * BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS + 4 * BOUND_NS);
}

/// The thread that pushes runs all tasks itself: no worker runs out of work, and bursts are told apart all
/// the same.
static void a_pause_without_a_dry_worker(void)
{
  begin();
  ws_store_relaxed(&prewake.starters, 3);
  arrives(FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starters), 0);
}

/// A worker has been idle for some time, while a burst was handed to others. It need not ask again once there
/// is a pause.
static void an_idle_worker_reports_a_pause_when_there_is_one(void)
{
  begin();
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.quiet), 0);
  CU_ASSERT_EQUAL(ws_prewake_idle(&pool, FIRST_NS + 1), FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(ws_prewake_idle(&pool, FIRST_NS + BOUND_NS - 1), FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.quiet), 0); // a push reads no clock
  CU_ASSERT_EQUAL(ws_prewake_idle(&pool, FIRST_NS + BOUND_NS), UINT64_MAX);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.quiet), 1);
  ws_prewake_arrived(&pool, FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS + BOUND_NS);
}

/// Another worker has run out of work meanwhile.
static void a_pause_begins_when_the_last_work_ends(void)
{
  begin();
  ws_store_relaxed(&prewake.out_of_work_ns, FIRST_NS + 3 * BOUND_NS);
  CU_ASSERT_EQUAL(ws_prewake_idle(&pool, FIRST_NS + BOUND_NS), FIRST_NS + 4 * BOUND_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.quiet), 0);
  CU_ASSERT_EQUAL(ws_prewake_idle(&pool, FIRST_NS + 4 * BOUND_NS), UINT64_MAX);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.quiet), 1);
}

#define HINT_NS (10 * FIRST_NS)
#define UNTIL_NS (HINT_NS + 10 * BOUND_NS)

static void announced(uint64_t at_ns, uint64_t until_ns)
{
  ws_prewake_quiet(&pool);
  ws_prewake_announced(&pool, at_ns, until_ns);
}

/// The hint has workers awake by the time of the push. So the hint is what a worker can be late for.
static void a_hint_is_the_arrival(void)
{
  begin();
  ws_store_relaxed(&prewake.starters, 5);
  announced(HINT_NS, UNTIL_NS);
  CU_ASSERT_EQUAL(arrival_ns(), HINT_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starters), 0);
  arrives(HINT_NS + 5 * BOUND_NS); // later than a pause is long
  CU_ASSERT_EQUAL(arrival_ns(), HINT_NS);
  arrives(HINT_NS + 7 * BOUND_NS); // the announced push has come
  CU_ASSERT_EQUAL(arrival_ns(), HINT_NS + 7 * BOUND_NS);
}

static void a_hint_that_is_repeated(void)
{
  begin();
  announced(HINT_NS, UNTIL_NS);
  announced(HINT_NS + 8 * BOUND_NS, UNTIL_NS + 8 * BOUND_NS);
  arrives(UNTIL_NS + 7 * BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), HINT_NS);
}

/// A push that comes too late, or after other work, is a burst of its own.
static void a_hint_that_was_wrong(void)
{
  begin();
  announced(HINT_NS, UNTIL_NS);
  arrives(UNTIL_NS + 1);
  CU_ASSERT_EQUAL(arrival_ns(), UNTIL_NS + 1);
  begin();
  announced(HINT_NS, UNTIL_NS);
  ws_store_relaxed(&prewake.out_of_work_ns, HINT_NS + BOUND_NS);
  arrives(HINT_NS + 3 * BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), HINT_NS + 3 * BOUND_NS);
}

/// While workers are at work a hint announces the next phase of the slot. Tasks that are pushed after that
/// work and a pause are another burst.
static void a_hint_to_a_pool_at_work(void)
{
  begin();
  ws_prewake_announced(&pool, HINT_NS, UNTIL_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
  arrives(HINT_NS + BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), HINT_NS + BOUND_NS);
  begin();
  ws_store_relaxed(&prewake.out_of_work_ns, HINT_NS - BOUND_NS / 2);
  announced(HINT_NS, UNTIL_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
  arrives(HINT_NS + 5 * BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
}

// Takers: who has taken of a burst is counted when the next one is learnt.

#define PERIOD_NS 500000u
#define BURSTS 400u

static void finds(uint32_t worker, uint64_t at_ns)
{
  ws_prewake_found(&workers[worker], at_ns, PERIOD_NS);
}

/// The first of a burst notes how late it is, also if others find tasks of the burst before it has done so.
static void one_worker_notes_when_a_burst_began(void)
{
  begin();
  for (uint32_t i = 0; i < 3; i++)
    finds(i, FIRST_NS + 100 + i);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.late.starts), 1);
  arrives(FIRST_NS + PERIOD_NS);
  for (uint32_t i = 0; i < 3; i++) {
    ws_store_relaxed(&prewake.late.last_ns, FIRST_NS); // the first has not noted it yet
    finds(i, FIRST_NS + PERIOD_NS + 100);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.starters), 3);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.late.starts), 2);
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

/// @return takers_of_phase() of a pattern with one phase
static int64_t takers(void (*burst)(uint32_t number, uint64_t at_ns), bool learn_first)
{
  play(burst, learn_first);
  return takers_of_phase(0);
}

static void three_find(uint32_t number, uint64_t at_ns)
{
  (void)number;
  for (uint32_t i = 0; i < 3; i++)
    finds(i, at_ns);
}

static void two_or_one_find(uint32_t number, uint64_t at_ns)
{
  finds(number % 2, at_ns);
  if (number % 2 == 0)
    finds(2, at_ns);
}

static void workers_that_took_tasks_of_a_burst_are_counted(void)
{
  for (uint32_t learn_first = 0; learn_first <= 1; learn_first++) {
    CU_ASSERT_EQUAL(takers(three_find, learn_first), 33);
    CU_ASSERT_EQUAL(takers(two_or_one_find, learn_first), 12);
  }
}

/// Worker 1 took of the first bursts only.
static void one_finds(uint32_t number, uint64_t at_ns)
{
  finds(0, at_ns);
  if (number < 3)
    finds(1, at_ns);
}

static void a_burst_before_does_not_count(void)
{
  for (uint32_t learn_first = 0; learn_first <= 1; learn_first++)
    CU_ASSERT_EQUAL(takers(one_finds, learn_first), 11);
}

static void two_find_and_one_takes_more(uint32_t number, uint64_t at_ns)
{
  (void)number;
  finds(0, at_ns);
  finds(1, at_ns);
  ws_prewake_took_more(&workers[1]);
}

static void all_take_much_more(uint32_t number, uint64_t at_ns)
{
  (void)number;
  for (uint32_t i = 0; i < WORKERS; i++) {
    finds(i, at_ns);
    ws_prewake_took_more(&workers[i]);
  }
}

/// A worker more could have run each of them, if the pool has it.
static void tasks_that_had_to_wait_count(void)
{
  for (uint32_t learn_first = 0; learn_first <= 1; learn_first++) {
    CU_ASSERT_EQUAL(takers(two_find_and_one_takes_more, learn_first), 33);
    CU_ASSERT_EQUAL(takers(all_take_much_more, learn_first), 11 * WORKERS);
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

static void the_next_phase_has_no_takers(void)
{
  CU_ASSERT_EQUAL(takers(one_finds_the_next_phase, false), 33);
  CU_ASSERT_EQUAL(takers(the_first_finds_the_next_phase, false), 33);
}

/// Bursts of one and of three takers, by turns, after gaps that are unlike.
static void each_phase_has_its_takers(void)
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
  CU_ASSERT_TRUE(prewake.rhythm.arrived.phase >= 0); // the last burst: of three takers
  CU_ASSERT_EQUAL(takers_of_phase((uint32_t)prewake.rhythm.arrived.phase), 33);
  CU_ASSERT_EQUAL(takers_of_phase(1 - (uint32_t)prewake.rhythm.arrived.phase), 11);
}

static void none_finds(uint32_t number, uint64_t at_ns)
{
  (void)number;
  (void)at_ns;
}

/// The thread that pushes has run all tasks itself.
static void a_burst_may_have_no_takers(void)
{
  CU_ASSERT_EQUAL(takers(none_finds, false), 0);
}

TEST_MAIN("arrival", TEST_CASE(only_after_quiet), TEST_CASE(a_burst_arrives_once),
          TEST_CASE(the_next_phase_is_of_the_same_burst), TEST_CASE(a_pause_without_a_dry_worker),
          TEST_CASE(an_idle_worker_reports_a_pause_when_there_is_one),
          TEST_CASE(a_pause_begins_when_the_last_work_ends), TEST_CASE(a_hint_is_the_arrival),
          TEST_CASE(a_hint_that_is_repeated), TEST_CASE(a_hint_that_was_wrong),
          TEST_CASE(a_hint_to_a_pool_at_work), TEST_CASE(one_worker_notes_when_a_burst_began),
          TEST_CASE(workers_that_took_tasks_of_a_burst_are_counted), TEST_CASE(a_burst_before_does_not_count),
          TEST_CASE(tasks_that_had_to_wait_count), TEST_CASE(the_next_phase_has_no_takers),
          TEST_CASE(each_phase_has_its_takers), TEST_CASE(a_burst_may_have_no_takers))
