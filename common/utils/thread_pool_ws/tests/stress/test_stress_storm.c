// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stress_storm.c
/// Threads that come and go. Stops under pushes: scenes/stop.c.
#include "stress_rounds.h"

typedef struct {
  ws_pool_t *pool;
  ws_au64_t ran, bad;
} storm_t;

typedef struct {
  ws_group_t group;
  ws_au64_t count;
} slot_t;

static void complete_by_hand(void *slot_arg)
{
  slot_t *slot = slot_arg;
  ws_add_relaxed(&slot->count, 1);
  ws_group_complete(&slot->group, 1); // from here on both may be gone
}

/// Group and count lie on a stack that the next burst uses, too.
static __attribute__((noinline)) bool one_burst(ws_pool_t *pool, uint32_t size, bool by_hand)
{
  slot_t slot = {.count = {0}};
  ws_group_init(&slot.group, size);
  for (uint32_t i = 0; i < size; i++) {
    if (by_hand)
      test_push(pool, complete_by_hand, &slot, ws_group_tag(&slot.group));
    else
      test_push(pool, test_count_task, &slot.count, &slot.group);
  }
  ws_group_wait(&slot.group, pool);
  return test_value(&slot.count) == size;
}

/// Bursts, and a task that no thread waits for.
static void *one_slot(void *storm_arg)
{
  storm_t *storm = storm_arg;
  for (uint32_t burst = 0; burst < 30; burst++)
    if (!one_burst(storm->pool, 1 + burst % 14, burst % 4 == 0))
      ws_add_relaxed(&storm->bad, 1);
  test_push(storm->pool, test_count_task, &storm->ran, NULL);
  return NULL;
}

static void threads_come_and_go(void)
{
  storm_t storm = {0};
  uint64_t random = test_seed(), spawned = 0;
  stress_t left = stress_begin(1, 100);
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

TEST_MAIN("stress_storm", TEST_CASE(threads_come_and_go))
