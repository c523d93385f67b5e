// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tpool_shutdown.c
/// The interface tpool: an orderly shutdown refuses further jobs and runs those that were added, as the
/// library does after which the interface is named. Programs for that library, in this project's words.
#include "tpool_test.h"

/// A thousand adds, with a shutdown in the middle. The results of the adds are not looked at.
static void jobs_before_a_shutdown_run(void)
{
  for (uint32_t round = 0; round < 50; round++) {
    ws_au64_t ran = {0};
    tpool *pool = tpool_create(4, 50);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    for (uint32_t i = 0; i < 1000; i++) {
      if (i == 500)
        CU_ASSERT_EQUAL(tpool_shutdown(pool), 0);
      tpool_add(pool, test_count_task, &ran);
    }
    tpool_wait(pool);
    CU_ASSERT_EQUAL(test_value(&ran), 500);
    CU_ASSERT_EQUAL(tpool_destroy(pool), 0);
    CU_ASSERT_EQUAL(test_value(&ran), 500);
  }
}

/// The shutdown returns while the job stands in its gate, and the buffer is full.
static void shutdown_does_not_wait(void)
{
  for (uint32_t waits = 0; waits <= 1; waits++) {
    test_full_t full;
    CU_ASSERT_FATAL(test_fill(&full, 20));
    CU_ASSERT_EQUAL(tpool_shutdown(full.pool), 0);
    CU_ASSERT_EQUAL(tpool_shutdown(full.pool), 0);
    CU_ASSERT_FALSE(tpool_is_stopping(full.pool));
    CU_ASSERT_EQUAL(tpool_count_working_threads(full.pool), 1);
    CU_ASSERT_EQUAL(tpool_add(full.pool, test_count_task, &full.ran), -ECANCELED);
    CU_ASSERT_EQUAL(tpool_try_add(full.pool, test_count_task, &full.ran), -ECANCELED);
    test_gate_let(&full.gate, 1);
    if (waits) {
      CU_ASSERT_EQUAL(tpool_wait(full.pool), 0);
      CU_ASSERT_EQUAL(test_value(&full.ran), 20);
    }
    tpool_destroy(full.pool);
    CU_ASSERT_EQUAL(test_value(&full.ran), 20);
    test_gate_destroy(&full.gate);
  }
}

#define ADDERS 8u

/// Threads that are blocked in an add when the shutdown comes add their jobs.
static void blocked_adders_add(void)
{
  test_full_t full;
  test_adder_t adder[ADDERS];
  test_threads_t threads = {0};
  CU_ASSERT_FATAL(test_fill(&full, 2));
  for (uint32_t i = 0; i < ADDERS; i++) {
    adder[i] = (test_adder_t){.pool = full.pool, .func = test_count_task, .arg = &full.ran};
    test_spawn(&threads, test_add_one, &adder[i]);
  }
  CU_ASSERT(test_until_blocked(full.pool, ADDERS));
  CU_ASSERT_EQUAL(tpool_shutdown(full.pool), 0);
  CU_ASSERT(test_until_blocked(full.pool, ADDERS)); // still
  test_gate_let(&full.gate, 1);
  test_join(&threads);
  for (uint32_t i = 0; i < ADDERS; i++)
    CU_ASSERT_EQUAL(adder[i].result, 0);
  CU_ASSERT_EQUAL(tpool_wait(full.pool), 0);
  CU_ASSERT_EQUAL(test_value(&full.ran), 2 + ADDERS);
  tpool_destroy(full.pool);
  test_gate_destroy(&full.gate);
}

/// A job that adds itself until it is refused.
typedef struct {
  tpool *pool;
  ws_au64_t runs;
  ws_au32_t shuts, result;
} again_t;

static void run_again(void *again_arg)
{
  again_t *again = again_arg;
  ws_add_relaxed(&again->runs, 1);
  if (ws_load_relaxed(&again->shuts) && test_value(&again->runs) == 100)
    ws_store_relaxed(&again->result, (uint32_t)tpool_shutdown(again->pool));
  tpool_try_add(again->pool, run_again, again);
}

static bool has_run(void *again)
{
  return test_value(&((again_t *)again)->runs) > 0;
}

/// A job may begin the shutdown, which refuses its further adds; so does a destroy, and ends.
static void jobs_that_add_are_refused(void)
{
  for (uint32_t shuts = 0; shuts <= 1; shuts++) {
    again_t again = {.pool = tpool_create(2, 3), .shuts = {shuts}, .result = {1}};
    CU_ASSERT_EQUAL(tpool_add(again.pool, run_again, &again), 0);
    CU_ASSERT(test_until(has_run, &again));
    if (shuts) {
      CU_ASSERT_EQUAL(tpool_wait(again.pool), 0);
      CU_ASSERT_EQUAL(test_value(&again.runs), 100);
      CU_ASSERT_EQUAL(ws_load_relaxed(&again.result), 0);
    }
    CU_ASSERT_EQUAL(tpool_destroy(again.pool), 0);
  }
}

TEST_MAIN("tpool_shutdown", TEST_CASE(jobs_before_a_shutdown_run), TEST_CASE(shutdown_does_not_wait),
          TEST_CASE(blocked_adders_add), TEST_CASE(jobs_that_add_are_refused))
