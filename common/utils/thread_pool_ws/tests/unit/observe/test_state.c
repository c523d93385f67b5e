// SPDX-License-Identifier: BSD-3-Clause
/// @file test_state.c
/// States of workers and the time in each. The clock is virtual: it advances by 1 ns at each look, and when a
/// test advances it. Linked with --wrap of ws_os_now_ns.
#include "../../../sleep/ws_sleep_state.h"
#include "../../support/ws_seam.h"

#define STEP_NS 1000000000u

static ws_au64_t clock_ns;

static uint64_t ws_os_now_ns_seam(void)
{
  return STEP_NS + ws_add_relaxed(&clock_ns, 1);
}

static ws_pool_t *pool;

static void create(uint32_t workers, ws_spin_t spin)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = spin;
  settings.spin_ns_max = 1000; // looks at the clock
  pool = test_create(&settings);
}

static ws_worker_stats_t worker_stats(uint32_t worker)
{
  ws_stats_t total;
  ws_worker_stats_t stats[4];
  CU_ASSERT_FATAL(ws_pool_stats(pool, &total, stats, 4) > worker);
  return stats[worker];
}

static bool is_in(void *state)
{
  return worker_stats(0).state == *(const ws_worker_state_t *)state;
}

static bool await(ws_worker_state_t state)
{
  return test_until(is_in, &state);
}

/// The state changes before the worker looks once more, and sleeps.
static bool await_sleep(void)
{
  return await(WS_WORKER_PARKED) && test_until_quiet(pool);
}

/// Let a second pass. @return in which state the time was counted; -1 = in none, or in several
static int32_t pass(void)
{
  const ws_worker_stats_t before = worker_stats(0);
  ws_add_relaxed(&clock_ns, STEP_NS);
  const ws_worker_stats_t after = worker_stats(0);
  int32_t counted = -1;
  for (uint32_t i = 0; i < WS_WORKER_STATES; i++) {
    const uint64_t ns = after.state_ns[i] - before.state_ns[i];
    if (ns < STEP_NS / 2)
      continue;
    counted = counted == -1 ? (int32_t)i : -2;
  }
  return counted < 0 ? -1 : counted;
}

/// Also the first one, which may be there before the worker has looked for one.
TEST_CASE(a_task_makes_its_worker_busy)
{
  TEST_GATE(gate);
  for (uint32_t round = 0; round < 50; round++) {
    create(1, WS_SPIN_OFF);
    test_hold(pool, &gate, 1);
    CU_ASSERT_EQUAL(worker_stats(0).state, WS_WORKER_BUSY);
    test_gate_let(&gate, 1);
    test_destroy(pool);
  }
  create(1, WS_SPIN_OFF);
  CU_ASSERT_TRUE(await_sleep());
  CU_ASSERT_EQUAL(pass(), WS_WORKER_PARKED);
  for (uint32_t round = 0; round < 3; round++) {
    test_hold(pool, &gate, 1);
    CU_ASSERT_EQUAL(worker_stats(0).state, WS_WORKER_BUSY);
    CU_ASSERT_EQUAL(pass(), WS_WORKER_BUSY);
    test_gate_let(&gate, 1);
    CU_ASSERT_TRUE(await_sleep());
    CU_ASSERT_EQUAL(pass(), WS_WORKER_PARKED);
  }
  test_destroy(pool);
}

/// A worker that busy-polls looks for tasks.
TEST_CASE(a_worker_that_spins_is_switching)
{
  TEST_SKIP_IF(test_cpus() < 2, "one CPU, so no worker spins");
  create(1, WS_SPIN_HOT);
  test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_TRUE(await(WS_WORKER_SWITCHING));
  test_destroy(pool);
}

static ws_au32_t woken_state; ///< 1 + state of the worker when it was woken last

static void note_state(void *unused, const ws_observation_t *seen)
{
  if (seen->what == WS_OBSERVED_UNPARK)
    ws_store_release(&woken_state, 1 + ws_load_relaxed(&ws_sleep_worker(pool->worker[0])->spent.state));
}

/// A worker that has been woken has no task yet.
TEST_CASE(a_worker_that_wakes_is_switching)
{
  ws_settings_t settings = test_settings(1);
  settings.spin = WS_SPIN_OFF;
  settings.observer = note_state;
  pool = test_create(&settings);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  ws_store_relaxed(&woken_state, 0);
  test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
  CU_ASSERT_EQUAL(ws_load_acquire(&woken_state), 1 + WS_WORKER_SWITCHING);
}

/// The sum of the states is the worker's age.
TEST_CASE(the_states_add_up)
{
  create(1, WS_SPIN_AUTO);
  CU_ASSERT_TRUE(test_until_quiet(pool)); // no other thread looks at the clock between these two
  const ws_worker_stats_t before = worker_stats(0);
  const uint64_t begin_ns = ws_os_now_ns_seam();
  for (uint32_t i = 0; i < 1000; i++)
    test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  const ws_worker_stats_t after = worker_stats(0);
  const uint64_t end_ns = ws_os_now_ns_seam();
  uint64_t sum_ns = 0;
  for (uint32_t i = 0; i < WS_WORKER_STATES; i++)
    sum_ns += after.state_ns[i] - before.state_ns[i];
  CU_ASSERT_TRUE(sum_ns <= end_ns - begin_ns + 4); // and no more than the looks between the snapshots
  CU_ASSERT_TRUE(sum_ns + 16 >= end_ns - begin_ns);
  CU_ASSERT_EQUAL(ws_pool_stop(pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(worker_stats(0).state, WS_WORKER_PARKED);
  const uint64_t parked_ns = worker_stats(0).state_ns[WS_WORKER_PARKED];
  ws_add_relaxed(&clock_ns, STEP_NS);
  CU_ASSERT_EQUAL(worker_stats(0).state_ns[WS_WORKER_PARKED], parked_ns); // it has ended
  ws_pool_destroy(pool);
}

TEST_MAIN_SEAMS("state", SEAM(ws_os_now_ns))
