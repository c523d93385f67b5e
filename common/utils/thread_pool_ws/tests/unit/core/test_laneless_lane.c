// SPDX-License-Identifier: BSD-3-Clause
/// @file test_laneless_lane.c
/// Threads without a lane that wait, in rarer places: inside tasks of two pools, behind a push that is under
/// way, with a lane that they get meanwhile.
#include "../../../core/ws_run.h"
#include "../../../pool/ws_lane.h"
#include "../../../tasks/ws_shared.h"
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

/// Another thread has claimed a cell of the shared queue and not filled it: the waiter's task lies behind it.
static int waits_behind_a_push(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  uint64_t index = 0;
  ws_shared_cell_t *cell = ws_shared_claim(&pool->tasks.shared, &index);
  ws_group_init(&group, 1);
  test_push(pool, own_task, NULL, &group);
  ws_group_wait(&group, pool);
  const ws_task_t late = {.func = test_empty_task};
  ws_count_pushed(pool, NULL, 1);
  ws_shared_publish(cell, index, &late);
  return end(test_value(&own_runs) == 1);
}

static void let_worker(void *unused)
{
  (void)unused;
  test_gate_let(&gate, 1);
}

static void push_to_new_lane(void *unused)
{
  (void)unused;
  if (ws_pool_push(pool, (ws_task_t){.func = let_worker, .priority = WS_PRIORITY_HIGH}) != 0)
    ws_add_relaxed(&test_refused, 1);
}

/// A task that ws_pool_wait() runs gets its thread a lane, and pushes there what the worker stands for.
static int pool_wait_gets_a_lane(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.full = WS_FULL_GROW;
  begin(&settings);
  hold();
  test_push(pool, push_to_new_lane, NULL, NULL);
  ws_pool_wait(pool);
  return end(true);
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

/// A task of the event lies in the shared queue, and the thread has a lane by now. The wait must not run the
/// child that the task pushes.
static int awaits_without_children(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.full = WS_FULL_GROW;
  settings.queue_capacity = 16;
  begin(&settings);
  hold();
  if (ws_pool_push(pool, (ws_task_t){.func = push_child, .group = ws_group_tag(&gate)}) != 0)
    return FAILED;
  for (uint32_t i = 0; i < 1000 && !ws_here_known(pool).queue; i++)
    test_push(pool, test_empty_task, NULL, NULL);
  const ws_event_t event = {has_looked_often, sleep_short, NULL};
  ws_pool_await(pool, ws_group_tag(&gate), &event);
  const bool good = ws_load_relaxed(&children_in_wait) == 0;
  return end(good);
}

static void a_wait_looks_behind_a_push(void)
{
  in_child(waits_behind_a_push);
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

TEST_MAIN("laneless_lane", TEST_CASE(a_task_may_push_to_an_outer_pool), TEST_CASE(a_wait_looks_behind_a_push),
          TEST_CASE(a_wait_for_the_pool_gets_a_lane), TEST_CASE(a_wait_for_an_event_runs_no_children))
