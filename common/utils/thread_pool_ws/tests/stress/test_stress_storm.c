// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stress_storm.c
/// Storms: threads that come and go, stops under pushes.
#include <sched.h>

#include "stress_rounds.h"

#define SHARES 2u

typedef struct {
  ws_pool_t *pool;
  ws_au64_t ran, accepted, bad;
} storm_t;

/// Two bursts, each with a group on the stack, and a task that no thread waits for.
static void *one_slot(void *storm_arg)
{
  storm_t *storm = storm_arg;
  for (uint32_t burst = 0; burst < 2; burst++) {
    ws_group_t group;
    ws_au64_t count = {0};
    ws_group_init(&group, 14);
    for (uint32_t i = 0; i < 14; i++)
      test_push(storm->pool, test_count_task, &count, &group);
    ws_group_wait(&group, storm->pool);
    if (test_value(&count) != 14)
      ws_add_relaxed(&storm->bad, 1);
  }
  test_push(storm->pool, test_count_task, &storm->ran, NULL);
  return NULL;
}

static void threads_come_and_go(void)
{
  storm_t storm = {0};
  uint64_t random = test_seed(), spawned = 0;
  stress_t left = stress_begin(SHARES, 100);
  ws_settings_t settings = test_settings(2);
  settings.lanes = 2;
  settings.queue_capacity = 8;
  storm.pool = test_create(&settings);
  do {
    test_threads_t threads = {0};
    const uint32_t count = 1 + (uint32_t)test_random(&random) % 6;
    for (uint32_t i = 0; i < count; i++)
      test_spawn(&threads, one_slot, &storm);
    test_join(&threads);
    spawned += count;
  } while (stress_goes_on(&left));
  CU_ASSERT_EQUAL(ws_pool_wait(storm.pool), 0);
  CU_ASSERT_EQUAL(test_value(&storm.bad), 0);
  CU_ASSERT_EQUAL(test_value(&storm.ran), spawned);
  test_destroy(storm.pool);
}

static void *push_until_refused(void *storm_arg)
{
  storm_t *storm = storm_arg;
  uint64_t accepted = 0;
  while (ws_pool_push(storm->pool, (ws_task_t){.func = test_count_task, .arg = &storm->ran}) == 0)
    if (++accepted % 256 == 0)
      sched_yield();
  ws_add_relaxed(&storm->accepted, accepted);
  return NULL;
}

static void stops_under_pushes(void)
{
  uint64_t random = test_seed();
  stress_t left = stress_begin(SHARES, 50);
  do {
    storm_t storm = {0};
    ws_settings_t settings = test_settings(1 + (uint32_t)test_random(&random) % 4);
    settings.queue_capacity = 2u << (test_random(&random) % 8);
    settings.lanes = (uint32_t)test_random(&random) % 3;
    settings.full = test_random(&random) % 2 ? WS_FULL_INLINE : WS_FULL_GROW;
    storm.pool = test_create(&settings);
    test_threads_t threads = {0};
    for (uint32_t i = 0; i < 3; i++)
      test_spawn(&threads, push_until_refused, &storm);
    if (test_random(&random) % 2)
      test_sleep_ms((uint32_t)test_random(&random) % 4);
    const bool abort_it = test_random(&random) % 2;
    CU_ASSERT_TRUE(ws_pool_stop(storm.pool, abort_it ? WS_STOP_ABORT : WS_STOP_DRAIN) >= 0);
    test_join(&threads);
    const uint64_t skipped = test_stats(storm.pool).skipped_tasks;
    CU_ASSERT_EQUAL(test_value(&storm.ran) + skipped, test_value(&storm.accepted));
    CU_ASSERT_TRUE(abort_it || skipped == 0);
    test_destroy(storm.pool);
  } while (stress_goes_on(&left));
}

TEST_MAIN("stress_storm", TEST_CASE(threads_come_and_go), TEST_CASE(stops_under_pushes))
