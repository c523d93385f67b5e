// SPDX-License-Identifier: BSD-3-Clause
/// @file test_laneless.c
/// A wait of a thread that has no lane in the pool runs its group's tasks from the overflow queue, and
/// nothing else. The workers stand in a gate, or wait themselves: no other thread can run them.
#include "../../../pool/ws_lane.h"
#include "laneless_scene.h"

static ws_pool_t *other_pool;
static ws_group_t unrelated;
static ws_au64_t unrelated_in_wait, unrelated_tasks;

static void unrelated_task(void *unused)
{
  (void)unused;
  ws_add_relaxed(&unrelated_tasks, 1);
  if (!ws_group_done(&group))
    ws_add_relaxed(&unrelated_in_wait, 1);
}

static int runs_its_own_only(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  ws_group_init(&group, 20);
  ws_group_init(&unrelated, 20);
  for (uint32_t i = 0; i < 20; i++) {
    test_push(pool, unrelated_task, NULL, i % 2 ? &unrelated : NULL);
    test_push(pool, own_task, NULL, &group);
    test_push(pool, unrelated_task, NULL, i % 2 ? NULL : &unrelated);
  }
  ws_group_wait(&group, pool);
  const bool good = test_value(&own_runs) == 20 && test_value(&unrelated_tasks) == 0;
  const int result = end(good);
  const bool run_later = test_value(&unrelated_tasks) == 40 && test_value(&unrelated_in_wait) == 0;
  return result == 0 && run_later ? 0 : FAILED;
}

static void wait_in_the_first(void *unused)
{
  (void)unused;
  ws_group_t last;
  ws_group_init(&last, 1);
  test_push(pool, test_empty_task, NULL, &last);
  ws_group_wait(&last, pool);
}

static void wait_in_the_other(void *unused)
{
  (void)unused;
  ws_group_t inner;
  ws_group_init(&inner, 1);
  test_push(other_pool, wait_in_the_first, NULL, &inner);
  ws_group_wait(&inner, other_pool);
}

/// A worker of each of two pools waits for a task of the other pool.
static int waits_across_pools(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  other_pool = test_create(&settings);
  ws_group_init(&group, 100);
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, wait_in_the_other, NULL, &group);
  ws_group_wait(&group, NULL);
  test_destroy(other_pool);
  return end(true);
}

/// The thread pushes without a lane, and waits when another thread has left it one.
static int pushed_before_it_had_a_lane(void *unused)
{
  (void)unused;
  bool good = begin_without_the_lane();
  ws_group_init(&group, 1);
  test_push(pool, own_task, NULL, &group);
  good &= ws_here_known(pool).queue == NULL;
  free_the_lane();
  ws_group_wait(&group, pool);
  good &= ws_here_known(pool).queue != NULL && test_value(&own_runs) == 1;
  return end(good);
}

static void push_with_the_lane(void *unused)
{
  (void)unused;
  free_the_lane();
  for (uint32_t i = 0; i < 10; i++)
    test_push(pool, own_task, NULL, &group);
}

/// The thread gets a lane in a task that it runs while it waits, and its tasks lie there.
static int gets_a_lane_in_its_wait(void *unused)
{
  (void)unused;
  bool good = begin_without_the_lane();
  ws_group_init(&group, 11);
  test_push(pool, push_with_the_lane, NULL, &group);
  good &= ws_here_known(pool).queue == NULL;
  ws_group_wait(&group, pool);
  good &= ws_here_known(pool).queue != NULL && test_value(&own_runs) == 10;
  return end(good);
}

static void let_the_worker_go(void *unused)
{
  (void)unused;
  test_gate_let(&gate, 1);
}

/// Only a task of the pool lets the worker go.
static int pool_wait_helps(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  test_push(pool, let_the_worker_go, NULL, NULL);
  const bool good = ws_pool_wait(pool) == 0;
  return end(good);
}

/// A task that is taken from the queue leaves room behind.
static int leaves_room(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.queue_capacity = 2;
  begin(&settings);
  hold();
  for (uint32_t i = 0; i < 100; i++) {
    ws_group_init(&group, 2);
    test_push(pool, own_task, NULL, &group);
    test_push(pool, own_task, NULL, &group);
    ws_group_wait(&group, pool);
  }
  return end(test_value(&own_runs) == 200);
}

static void a_wait_runs_its_own_tasks_only(void)
{
  in_child(runs_its_own_only);
}

static void waits_across_pools_end(void)
{
  in_child(waits_across_pools);
}

static void a_wait_finds_what_was_pushed_without_a_lane(void)
{
  in_child(pushed_before_it_had_a_lane);
}

static void a_wait_goes_on_with_a_lane(void)
{
  in_child(gets_a_lane_in_its_wait);
}

static void a_wait_for_the_pool_helps(void)
{
  in_child(pool_wait_helps);
}

static void tasks_leave_room(void)
{
  in_child(leaves_room);
}

TEST_MAIN("laneless", TEST_CASE(a_wait_runs_its_own_tasks_only), TEST_CASE(waits_across_pools_end),
          TEST_CASE(a_wait_finds_what_was_pushed_without_a_lane), TEST_CASE(a_wait_goes_on_with_a_lane),
          TEST_CASE(a_wait_for_the_pool_helps), TEST_CASE(tasks_leave_room))
