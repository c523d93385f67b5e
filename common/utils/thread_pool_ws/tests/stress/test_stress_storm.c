// SPDX-License-Identifier: BSD-3-Clause
/// @file test_stress_storm.c
/// Storms: slots of bursts with groups on the stack, joins from several threads, threads that come and go,
/// stops under pushes, blocking tasks among short ones.
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "stress_rounds.h"

#define SHARES 5u

typedef struct {
  ws_pool_t *pool;
  uint64_t random;
  stress_t left;
  uint64_t bad, done;
  ws_au64_t ran, accepted;
} storm_t;

static void write_word(void *word)
{
  *(uint32_t *)word += 1;
}

static __attribute__((noinline)) bool slot(ws_pool_t *pool, uint64_t *random)
{
  ws_group_t group[2];
  uint32_t word[2][14] = {{0}};
  const uint32_t count = 1 + (uint32_t)test_random(random) % 14;
  for (uint32_t g = 0; g < 2; g++) {
    ws_group_init(&group[g], count);
    for (uint32_t i = 0; i < count; i++)
      test_push(pool, write_word, &word[g][i], &group[g]);
    ws_group_wait(&group[g], pool);
  }
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 14; i++)
    sum += word[0][i] + word[1][i];
  return sum == 2 * count;
}

static void *play_slots(void *storm_arg)
{
  storm_t *storm = storm_arg;
  do {
    storm->bad += !slot(storm->pool, &storm->random);
    storm->done++;
    if (test_random(&storm->random) % 64 == 0)
      test_sleep_ms(1);
  } while (stress_goes_on(&storm->left));
  return NULL;
}

/// Several pools, each with two threads that play slots on it.
static void slots_on_many_pools(void)
{
  uint64_t random = test_seed();
  const stress_t left = stress_begin(SHARES, 500);
  storm_t storm[6];
  ws_pool_t *pool[3];
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < 3; i++)
    pool[i] = test_pool(1 + i);
  for (uint32_t i = 0; i < 6; i++) {
    storm[i] = (storm_t){.pool = pool[i / 2], .random = test_random(&random), .left = left};
    test_spawn(&threads, play_slots, &storm[i]);
  }
  test_join(&threads);
  for (uint32_t i = 0; i < 6; i++) {
    CU_ASSERT_EQUAL(storm[i].bad, 0);
    CU_ASSERT_TRUE(storm[i].done > 0);
  }
  for (uint32_t i = 0; i < 3; i++)
    test_destroy(pool[i]);
}

static void *one_slot(void *storm_arg)
{
  storm_t *storm = storm_arg;
  uint64_t random = storm->random;
  if (!slot(storm->pool, &random))
    ws_add_relaxed(&storm->ran, 1);
  test_push(storm->pool, test_count_task, &storm->accepted, NULL);
  return NULL;
}

static void threads_come_and_go(void)
{
  storm_t storm = {.random = test_seed(), .left = stress_begin(SHARES, 100)};
  ws_settings_t settings = test_settings(2);
  settings.lanes = 2;
  settings.queue_capacity = 8;
  storm.pool = test_create(&settings);
  uint64_t spawned = 0;
  do {
    test_threads_t threads = {0};
    const uint32_t count = 1 + (uint32_t)test_random(&storm.random) % 6;
    for (uint32_t i = 0; i < count; i++)
      test_spawn(&threads, one_slot, &storm);
    test_join(&threads);
    spawned += count;
  } while (stress_goes_on(&storm.left));
  CU_ASSERT_EQUAL(ws_pool_wait(storm.pool), 0);
  CU_ASSERT_EQUAL(test_value(&storm.ran), 0);
  CU_ASSERT_EQUAL(test_value(&storm.accepted), spawned);
  test_destroy(storm.pool);
}

typedef struct {
  storm_t *storm;
  ws_group_t *group;
} grow_t;

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

/// Short tasks run on while others of the pool stand in a gate, at any number up to one less than the
/// workers.
static void blocking_tasks_among_short_ones(void)
{
  uint64_t random = test_seed();
  stress_t left = stress_begin(SHARES, 300);
  ws_pool_t *pool = test_pool(4);
  test_gate_t gate;
  test_gate_init(&gate);
  do {
    const uint32_t blocked = 1 + (uint32_t)test_random(&random) % 3;
    for (uint32_t i = 0; i < blocked; i++)
      test_push(pool, test_gate_task, &gate, NULL);
    ws_group_t group;
    ws_au64_t count = {0};
    ws_group_init(&group, 10);
    for (uint32_t i = 0; i < 10; i++)
      test_push(pool, test_count_task, &count, &group);
    ws_group_wait(&group, NULL); // only a worker that is not in the gate can run them
    CU_ASSERT_EQUAL(test_value(&count), 10);
    CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, blocked));
    test_gate_let(&gate, blocked);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  } while (stress_goes_on(&left));
  test_destroy(pool);
  test_gate_destroy(&gate);
}

/// Tasks that add children to a group that others wait for, and leave them behind.
static void leave_children(void *grow_arg)
{
  const grow_t *grow = grow_arg;
  for (uint32_t i = 0; i < 3; i++) {
    ws_group_add(grow->group, 1);
    test_push(grow->storm->pool, test_count_task, &grow->storm->ran, grow->group);
  }
}

static void *join_growing_groups(void *storm_arg)
{
  storm_t *storm = storm_arg;
  do {
    ws_group_t group;
    const grow_t grow = {.storm = storm, .group = &group};
    ws_group_init(&group, 4);
    for (uint32_t i = 0; i < 4; i++)
      test_push(storm->pool, leave_children, (void *)(uintptr_t)&grow, &group);
    ws_group_wait(&group, storm->pool);
    storm->done++;
    storm->bad += test_value(&storm->ran) != 12 * storm->done;
  } while (stress_goes_on(&storm->left));
  return NULL;
}

static void growing_groups(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    ws_settings_t settings = test_settings(workers);
    settings.join_spin_ns_max = workers == 1 ? 0 : 20000;
    ws_pool_t *pool = test_create(&settings);
    storm_t storm[2];
    test_threads_t threads = {0};
    for (uint32_t i = 0; i < 2; i++) {
      storm[i] = (storm_t){.pool = pool, .left = stress_begin(2 * SHARES, 1000)};
      test_spawn(&threads, join_growing_groups, &storm[i]);
    }
    test_join(&threads);
    CU_ASSERT_EQUAL(storm[0].bad + storm[1].bad, 0);
    test_destroy(pool);
  }
}

TEST_MAIN("stress_storm", TEST_CASE(slots_on_many_pools), TEST_CASE(threads_come_and_go),
          TEST_CASE(stops_under_pushes), TEST_CASE(blocking_tasks_among_short_ones),
          TEST_CASE(growing_groups))
