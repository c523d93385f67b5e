// SPDX-License-Identifier: BSD-3-Clause
/// @file test_laneless_lane.c
/// Threads without a lane that wait, in rarer places: inside tasks of two pools, with a lane that they get
/// meanwhile.
#include "../../../pool/ws_lane.h"
#include "laneless_scene.h"

static ws_pool_t *other_pool;
static ws_group_t inner_group;
static ws_au32_t answer; ///< of the push from the inner task; not an error number = there was none

static void *drain_pool(void *unused)
{
  ws_pool_stop(pool, WS_STOP_DRAIN);
  return unused;
}

static bool is_draining(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) != WS_RUNNING;
}

/// Runs inside a task of the first pool, on the same thread, which has no lane in either.
static void push_to_outer_pool(void *unused)
{
  (void)unused;
  if (test_until(is_draining, NULL))
    ws_store_relaxed(&answer, (uint32_t)-ws_pool_push(pool, (ws_task_t){.func = own_task}));
}

static void wait_for_inner_pool(void *unused)
{
  (void)unused;
  ws_group_init(&inner_group, 1);
  test_push(other_pool, push_to_outer_pool, NULL, &inner_group);
  ws_group_wait(&inner_group, other_pool);
}

/// A pool that stops takes what its tasks push, also from inside a task of another pool.
static int pushes_to_an_outer_pool(void *unused)
{
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  ws_pool_t *const first = pool;
  pool = other_pool = test_create(&settings);
  hold(); // the worker of the other pool
  pool = first;
  test_gate_t outer_gate;
  test_gate_init(&outer_gate);
  test_push(pool, test_gate_task, &outer_gate, NULL);
  bool good = test_gate_await(&outer_gate, 1);
  ws_store_relaxed(&answer, UINT32_MAX);
  ws_group_init(&group, 1);
  test_push(pool, wait_for_inner_pool, NULL, &group);
  test_threads_t threads = {0};
  test_spawn(&threads, drain_pool, unused);
  ws_group_wait(&group, pool);
  test_gate_let(&outer_gate, 1);
  test_join(&threads);
  good &= ws_load_relaxed(&answer) == 0 && test_value(&own_runs) <= 1;
  test_destroy(pool);
  test_gate_destroy(&outer_gate);
  pool = other_pool;
  return end(good);
}

static void let_worker(void *unused)
{
  (void)unused;
  test_gate_let(&gate, 1);
}

static void push_to_new_lane(void *unused)
{
  (void)unused;
  free_the_lane();
  test_push(pool, let_worker, NULL, NULL);
}

/// A task that ws_pool_wait() runs gets its thread a lane, and pushes there what the worker stands for.
static int pool_wait_gets_a_lane(void *unused)
{
  (void)unused;
  const bool good = begin_without_the_lane();
  test_push(pool, push_to_new_lane, NULL, NULL);
  ws_pool_wait(pool);
  return end(good && ws_here_known(pool).queue);
}

static ws_au32_t children_in_wait, looks;

static void note_child(void *unused)
{
  (void)unused;
  if (pthread_equal(pthread_self(), waiter))
    ws_add_relaxed(&children_in_wait, 1);
}

static void push_child(void *unused)
{
  (void)unused;
  test_push(pool, note_child, NULL, NULL);
}

static bool has_looked_often(void *unused)
{
  (void)unused;
  return ws_add_relaxed(&looks, 1) > 100;
}

static void sleep_short(void *unused)
{
  (void)unused;
  test_sleep_ms(1);
}

/// A task of the event lies in the overflow queue, and the thread has a lane by now. The wait must not run
/// the child that the task pushes.
static int awaits_without_children(void *unused)
{
  (void)unused;
  bool good = begin_without_the_lane();
  test_push(pool, push_child, NULL, ws_group_tag(&gate));
  free_the_lane();
  test_push(pool, test_empty_task, NULL, NULL);
  good &= ws_here_known(pool).queue != NULL;
  const ws_event_t event = {has_looked_often, sleep_short, NULL};
  ws_pool_await(pool, ws_group_tag(&gate), &event);
  good &= ws_load_relaxed(&children_in_wait) == 0;
  return end(good);
}

static void a_wait_for_the_pool_gets_a_lane(void)
{
  in_child(pool_wait_gets_a_lane);
}

static void a_wait_for_an_event_runs_no_children(void)
{
  in_child(awaits_without_children);
}

static void a_task_may_push_to_an_outer_pool(void)
{
  in_child(pushes_to_an_outer_pool);
}

TEST_MAIN("laneless_lane", TEST_CASE(a_task_may_push_to_an_outer_pool),
          TEST_CASE(a_wait_for_the_pool_gets_a_lane), TEST_CASE(a_wait_for_an_event_runs_no_children))
