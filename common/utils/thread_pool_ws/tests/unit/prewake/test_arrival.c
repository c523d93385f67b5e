// SPDX-License-Identifier: BSD-3-Clause
/// @file test_arrival.c
/// When work counts as the first after a pause, and how many workers have taken of it (ws_prewake.h).
#include "../../../prewake/ws_prewake.h"

#include <string.h>

#include "../../../prewake/ws_prewake_state.h"
#include "../../support/ws_test.h"

#define BOUND_NS 40000u
#define FIRST_NS 1000000u

static struct ws_pool_s pool;
static ws_prewake_pool_t prewake;

/// A pool whose workers have run out of work long before FIRST_NS, and a burst that came then.
static void begin(void)
{
  memset(&pool, 0, sizeof(pool));
  memset(&prewake, 0, sizeof(prewake));
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
  ws_store_relaxed(&prewake.takers, 7);
  arrives(FIRST_NS + 2000);
  arrives(FIRST_NS + BOUND_NS - 1);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.takers), 7);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.takers_before), 0);
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
  ws_store_relaxed(&prewake.takers, 3);
  arrives(FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(arrival_ns(), FIRST_NS + BOUND_NS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.takers_before), 3);
  CU_ASSERT_EQUAL(ws_load_relaxed(&prewake.takers), 0);
}

TEST_MAIN("arrival", TEST_CASE(only_after_quiet), TEST_CASE(a_burst_arrives_once),
          TEST_CASE(the_next_phase_is_of_the_same_burst), TEST_CASE(a_pause_without_a_dry_worker))
