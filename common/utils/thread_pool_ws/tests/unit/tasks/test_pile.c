// SPDX-License-Identifier: BSD-3-Clause
/// @file test_pile.c
/// Completions that one worker makes for others of its circle: none is lost, and none is made twice
/// (ws_pile.h).
#include "../../../tasks/ws_pile.h"

#include <sched.h>
#include <string.h>

#include "../../../tasks/ws_group_word.h"
#include "../../support/ws_test.h"

#define CIRCLES 2u
#define COUNT_MAX 65535u

static ws_tasks_t tasks;
static ws_circle_t circles[CIRCLES];
static ws_circle_t *const circle = &circles[1];
static ws_group_t group, other;

static void begin(void)
{
  memset(&tasks, 0, sizeof(tasks));
  memset(circles, 0, sizeof(circles));
  tasks.circle = circles;
  tasks.piles = CIRCLES;
}

static void without_a_collector_nothing_is_added(void)
{
  begin();
  CU_ASSERT_FALSE(ws_pile_is_open(&tasks));
  CU_ASSERT_FALSE(ws_pile_add(circle, &group, 1));
  CU_ASSERT_FALSE(ws_pile_add(circle, NULL, 1)); // no group is like an empty word
  CU_ASSERT_EQUAL(ws_load_relaxed(&circle->pile), 0);
}

static void one_collects_what_others_add(void)
{
  begin();
  CU_ASSERT_TRUE(ws_pile_open(circle, &group));
  CU_ASSERT_TRUE(ws_pile_is_open(&tasks));
  CU_ASSERT_FALSE(ws_pile_open(circle, &group));
  CU_ASSERT_FALSE(ws_pile_open(circle, &other));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 2));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 3));
  CU_ASSERT_FALSE(ws_pile_add(circle, &other, 1));
  CU_ASSERT_FALSE(ws_pile_add(&circles[0], &group, 1)); // the pile of another circle
  CU_ASSERT_EQUAL(ws_pile_close(circle), 5);
  CU_ASSERT_FALSE(ws_pile_is_open(&tasks));
  CU_ASSERT_FALSE(ws_pile_add(circle, &group, 1));
  CU_ASSERT_TRUE(ws_pile_open(circle, &other));
  CU_ASSERT_EQUAL(ws_pile_close(circle), 0);
}

static void a_pile_has_room_for_so_many(void)
{
  begin();
  CU_ASSERT_TRUE(ws_pile_open(circle, &group));
  CU_ASSERT_FALSE(ws_pile_add(circle, &group, COUNT_MAX + 1));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, COUNT_MAX - 1));
  CU_ASSERT_FALSE(ws_pile_add(circle, &group, 2));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 1));
  CU_ASSERT_FALSE(ws_pile_add(circle, &group, 1));
  CU_ASSERT_EQUAL(ws_pile_close(circle), COUNT_MAX);
}

/// The word has 48 bits for an address. The groups here are never touched.
static void a_group_with_a_long_address_is_not_collected_for(void)
{
  ws_group_t *highest = (ws_group_t *)(uintptr_t)0xfffffffffffc;
  ws_group_t *too_high = (ws_group_t *)(uintptr_t)0x1000000000000;
  ws_group_t *far_too_high = (ws_group_t *)(uintptr_t)0xffff7fffffffffe0;
  begin();
  CU_ASSERT_FALSE(ws_pile_open(circle, too_high));
  CU_ASSERT_FALSE(ws_pile_open(circle, far_too_high));
  CU_ASSERT_FALSE(ws_pile_is_open(&tasks));
  CU_ASSERT_FALSE(ws_pile_add(circle, too_high, 1));
  CU_ASSERT_TRUE(ws_pile_open(circle, highest));
  CU_ASSERT_TRUE(ws_pile_add(circle, highest, 7));
  CU_ASSERT_FALSE(ws_pile_add(circle, too_high, 1));
  CU_ASSERT_FALSE(ws_pile_add(circle, far_too_high, 1)); // its low bits are another group's
  uint32_t count;
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_PTR_EQUAL(ws_pile_take_stuck(circle, &count), highest);
  CU_ASSERT_EQUAL(count, 7);
}

static void the_guard_takes_what_it_has_seen_twice(void)
{
  uint32_t count;
  begin();
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count)); // closed
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_TRUE(ws_pile_open(circle, &group));
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count)); // empty
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 2));
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 1)); // others add, whether the collector has a CPU or not
  CU_ASSERT_PTR_EQUAL(ws_pile_take_stuck(circle, &count), &group);
  CU_ASSERT_EQUAL(count, 3);
  CU_ASSERT_TRUE(ws_pile_is_open(&tasks));
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_EQUAL(ws_pile_close(circle), 0); // the collector has a CPU again
}

static void after_the_guard_others_may_add(void)
{
  uint32_t count;
  begin();
  CU_ASSERT_TRUE(ws_pile_open(circle, &group));
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 2));
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_PTR_EQUAL(ws_pile_take_stuck(circle, &count), &group);
  CU_ASSERT_TRUE(ws_pile_add(circle, &group, 4));
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count)); // seen once
  CU_ASSERT_EQUAL(ws_pile_close(circle), 4);
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(circle, &count));
}

// All at once.

#define ADDERS 3u
#define ROUNDS (TEST_SANITIZED ? 2000u : 20000u)
static ws_au64_t completed;
static ws_au32_t over;

/// A worker that completes one task a round: by itself, for others, or through another.
static void *complete(void *unused)
{
  for (uint32_t i = 0; i < ROUNDS; i++) {
    if (ws_pile_add(circle, &group, 1))
      continue;
    const bool collects = ws_pile_open(circle, &group);
    if (i % 7 == 0)
      sched_yield(); // others add
    ws_add_relaxed(&completed, 1);
    if (collects)
      ws_add_relaxed(&completed, ws_pile_close(circle));
  }
  return unused;
}

static void *guard(void *unused)
{
  uint32_t count;
  while (!ws_load_acquire(&over)) {
    if (ws_pile_take_stuck(circle, &count))
      ws_add_relaxed(&completed, count);
    sched_yield();
  }
  return unused;
}

static void each_completion_is_made_once(void)
{
  test_threads_t adders = {0}, guards = {0};
  begin();
  test_spawn(&guards, guard, NULL);
  for (uint32_t i = 0; i < ADDERS; i++)
    test_spawn(&adders, complete, NULL);
  test_join(&adders);
  ws_store_release(&over, 1);
  test_join(&guards);
  CU_ASSERT_EQUAL(test_value(&completed), ADDERS * ROUNDS);
  CU_ASSERT_FALSE(ws_pile_is_open(&tasks));
}

static void only_wide_pools_have_piles(void)
{
  CU_ASSERT_EQUAL(ws_pile_count(16, 2), 0);
  CU_ASSERT_EQUAL(ws_pile_count(80, 10), 0);
  CU_ASSERT_EQUAL(ws_pile_count(81, 11), 11);
  CU_ASSERT_EQUAL(ws_pile_count(WS_WORKERS_MAX, WS_CIRCLES_MAX), WS_CIRCLES_MAX);
}

TEST_MAIN("pile", TEST_CASE(without_a_collector_nothing_is_added), TEST_CASE(one_collects_what_others_add),
          TEST_CASE(a_pile_has_room_for_so_many), TEST_CASE(a_group_with_a_long_address_is_not_collected_for),
          TEST_CASE(the_guard_takes_what_it_has_seen_twice), TEST_CASE(after_the_guard_others_may_add),
          TEST_CASE(each_completion_is_made_once), TEST_CASE(only_wide_pools_have_piles))
