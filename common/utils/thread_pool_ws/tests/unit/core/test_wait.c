// SPDX-License-Identifier: BSD-3-Clause
/// @file test_wait.c
/// Waiting for a whole pool, stopping it by draining or aborting, and pushes that come at that moment.
#include <errno.h>
#include <sched.h>

#include "../../../pool/ws_process.h"
#include "../../support/ws_test.h"

typedef struct {
  ws_pool_t *pool;
  ws_au64_t count, accepted, refused, other;
  ws_au32_t over;
  uint32_t depth;
} scene_t;

typedef struct {
  scene_t *scene;
  uint32_t depth;
} node_t;

static node_t nodes[12];

static void fan_out(void *node_arg)
{
  const node_t *node = node_arg;
  ws_add_relaxed(&node->scene->count, 1);
  for (uint32_t i = 0; i < 2 && node->depth > 0; i++)
    test_push(node->scene->pool, fan_out, &nodes[node->depth - 1], NULL);
}

static void set_nodes(scene_t *scene)
{
  for (uint32_t i = 0; i < TEST_COUNT(nodes); i++)
    nodes[i] = (node_t){.scene = scene, .depth = i};
}

static void waits_for_tasks_and_what_they_push(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    scene_t scene = {.pool = test_pool(workers)};
    set_nodes(&scene);
    for (uint32_t round = 1; round <= 20; round++) {
      test_push(scene.pool, fan_out, &nodes[9], NULL);
      CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
      CU_ASSERT_EQUAL(test_value(&scene.count), round * ((1u << 10) - 1));
    }
    test_destroy(scene.pool);
  }
}

static void *push_and_wait(void *scene_arg)
{
  scene_t *scene = scene_arg;
  for (uint32_t round = 0; round < 200; round++) {
    ws_au64_t own = {0};
    for (uint32_t i = 0; i < 10; i++)
      test_push(scene->pool, test_count_task, &own, NULL);
    if (ws_pool_wait(scene->pool) != 0 || test_value(&own) != 10)
      ws_add_relaxed(&scene->other, 1);
    ws_add_relaxed(&scene->count, test_value(&own));
  }
  return NULL;
}

static void several_threads_wait_at_once(void)
{
  scene_t scene = {.pool = test_pool(2)};
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < 4; i++)
    test_spawn(&threads, push_and_wait, &scene);
  test_join(&threads);
  CU_ASSERT_EQUAL(test_value(&scene.other), 0);
  CU_ASSERT_EQUAL(test_value(&scene.count), 8000);
  test_destroy(scene.pool);
}

static void wait_and_stop_inside(void *scene_arg)
{
  scene_t *scene = scene_arg;
  ws_add_relaxed(&scene->count, ws_pool_wait(scene->pool) == -EDEADLK);
  ws_add_relaxed(&scene->count, ws_pool_stop(scene->pool, WS_STOP_DRAIN) == -EDEADLK);
}

static void a_task_cannot_wait_for_itself(void)
{
  scene_t scene = {.pool = test_pool(1)};
  ws_group_t group;
  for (uint32_t round = 1; round <= 50; round++) {
    ws_group_init(&group, 1);
    test_push(scene.pool, wait_and_stop_inside, &scene, &group);
    ws_group_wait(&group, round % 2 ? scene.pool : NULL); // on this thread, or on the worker
    CU_ASSERT_EQUAL(test_value(&scene.count), 2 * round);
  }
  test_destroy(scene.pool);
}

static void drain_runs_everything(void)
{
  for (uint32_t round = 0; round < 100; round++) {
    scene_t scene = {.pool = test_pool(1 + round % 3)};
    set_nodes(&scene);
    for (uint32_t i = 0; i < 20; i++)
      test_push(scene.pool, fan_out, &nodes[5], NULL);
    CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
    CU_ASSERT_EQUAL(test_value(&scene.count), 20 * 63);
    CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), -EALREADY);
    CU_ASSERT_EQUAL(ws_pool_push(scene.pool, (ws_task_t){.func = test_empty_task}), -ECANCELED);
    CU_ASSERT_EQUAL(ws_pool_try_push(scene.pool, (ws_task_t){.func = test_empty_task}), -ECANCELED);
    const ws_task_t task = {.func = test_empty_task};
    CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, &task, 1), -ECANCELED);
    test_destroy(scene.pool);
  }
}

typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
} stop_t;

static bool is_stopping(void *pool)
{
  return ws_load_acquire(&((struct ws_pool_s *)pool)->state) != WS_RUNNING;
}

/// The worker must not run what is queued before the abort has begun.
static void *let_when_it_stops(void *stop_arg)
{
  stop_t *stop = stop_arg;
  test_until(is_stopping, stop->pool);
  test_gate_let(&stop->gate, 1);
  return NULL;
}

/// Running tasks are finished, queued tasks are skipped, and every group is completed.
static void abort_skips_and_completes_groups(void)
{
  scene_t scene = {.pool = test_pool(1)};
  stop_t stop = {.pool = scene.pool};
  ws_group_t group;
  test_gate_init(&stop.gate);
  ws_group_init(&group, 101);
  test_push(scene.pool, test_gate_task, &stop.gate, &group);
  CU_ASSERT_TRUE(test_gate_await(&stop.gate, 1));
  for (uint32_t i = 0; i < 100; i++)
    test_push(scene.pool, test_count_task, &scene.count, &group);
  test_threads_t threads = {0};
  test_spawn(&threads, let_when_it_stops, &stop);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_ABORT), 100);
  test_join(&threads);
  CU_ASSERT_EQUAL(test_value(&scene.count), 0);
  CU_ASSERT_TRUE(ws_group_done(&group));
  ws_group_wait(&group, scene.pool);
  CU_ASSERT_EQUAL(test_stats(scene.pool).skipped_tasks, 100);
  test_destroy(scene.pool);
  test_gate_destroy(&stop.gate);
}

static void *push_until_refused(void *scene_arg)
{
  scene_t *scene = scene_arg;
  uint64_t accepted = 0, wrong = 0;
  ws_task_t tasks[3];
  for (uint32_t i = 0; i < 3; i++)
    tasks[i] = (ws_task_t){.func = test_count_task, .arg = &scene->count};
  for (uint32_t round = 0;; round++) {
    const int64_t result =
        round % 3 ? ws_pool_push(scene->pool, tasks[0]) : ws_pool_push_batch(scene->pool, tasks, 3);
    if (result == -ECANCELED)
      break;
    wrong += round % 3 ? result != 0 : result < 1 || result > 3; // a stop may come in the middle of a batch
    accepted += round % 3 ? 1 : (uint64_t)result;
    if (accepted % 64 == 0)
      sched_yield();
  }
  ws_add_relaxed(&scene->accepted, accepted);
  ws_add_relaxed(&scene->other, wrong);
  return NULL;
}

/// Every push that was taken is run or counted as skipped; every other was refused.
static void stop_against_pushes_from_outside(void)
{
  for (uint32_t round = 0; round < 60; round++) {
    ws_settings_t settings = test_settings(1 + round % 3);
    settings.queue_capacity = 32;
    settings.full = round % 2 ? WS_FULL_INLINE : WS_FULL_GROW;
    settings.lanes = round % 4; // some, or all, share the queue of those without a lane
    scene_t scene = {.pool = test_create(&settings)};
    test_threads_t threads = {0};
    for (uint32_t i = 0; i < 3; i++)
      test_spawn(&threads, push_until_refused, &scene);
    while (test_value(&scene.count) < 10)
      sched_yield();
    const bool abort_it = round % 5 > 2;
    ws_pool_stop(scene.pool, abort_it ? WS_STOP_ABORT : WS_STOP_DRAIN);
    test_join(&threads);
    const uint64_t skipped = test_stats(scene.pool).skipped_tasks;
    CU_ASSERT_EQUAL(test_value(&scene.other), 0);
    CU_ASSERT_EQUAL(test_value(&scene.count) + skipped, test_value(&scene.accepted));
    CU_ASSERT_TRUE(abort_it || skipped == 0);
    test_destroy(scene.pool);
  }
}

static void destroy_runs_what_is_queued(void)
{
  for (uint32_t round = 0; round < 50; round++) {
    scene_t scene = {.pool = test_pool(2)};
    for (uint32_t i = 0; i < 50; i++)
      test_push(scene.pool, test_count_task, &scene.count, NULL);
    test_destroy(scene.pool);
    CU_ASSERT_EQUAL(test_value(&scene.count), 50);
  }
}

/// The budget of awake workers is the process's: a pool that ends must leave it as it found it.
static void ended_pools_leave_no_awake_workers_behind(void)
{
  const uint32_t before = ws_process_awake();
  for (uint32_t round = 0; round < 10; round++) {
    ws_pool_t *pool = test_pool(3);
    test_push(pool, test_empty_task, NULL, NULL);
    test_destroy(pool);
  }
  CU_ASSERT_EQUAL(ws_process_awake(), before);
}

TEST_MAIN("wait", TEST_CASE(waits_for_tasks_and_what_they_push), TEST_CASE(several_threads_wait_at_once),
          TEST_CASE(a_task_cannot_wait_for_itself), TEST_CASE(drain_runs_everything),
          TEST_CASE(abort_skips_and_completes_groups), TEST_CASE(stop_against_pushes_from_outside),
          TEST_CASE(destroy_runs_what_is_queued), TEST_CASE(ended_pools_leave_no_awake_workers_behind))
