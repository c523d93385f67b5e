// SPDX-License-Identifier: BSD-3-Clause
/// @file test_events_find.c
/// Threads and tasks as the events name them: steal, join, and workers of other pools
/// (docs/tracing.md). Linked with the core that records (ws_recorder.h).
#include <errno.h>

#include "../../support/ws_scene.h"

#define NOBODY INT64_MIN

static int result; ///< of a wait in a task

/// One worker.
static void begin(uint32_t lanes)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = lanes;
  result = 0;
  scene_begin(&settings, NULL);
}

/// The thread's last steal before a task's begin, unless it has begun another since.
static int64_t victim_of(const void *arg, int64_t worker)
{
  const recorded_t *run = recorder_find("run_begin", F_ARG, ADDRESS(arg)), *stolen = NULL, *other = NULL;
  CU_ASSERT_TRUE_FATAL(run != NULL);
  for (const recorded_t *it = NULL; (it = recorder_next(it, "steal")) && it < run;)
    stolen = pthread_equal(it->thread, run->thread) ? it : stolen;
  for (const recorded_t *it = NULL; (it = recorder_next(it, "run_begin")) && it < run;)
    other = pthread_equal(it->thread, run->thread) ? it : other;
  if (!stolen || (other && other > stolen))
    return NOBODY;
  CU_ASSERT_TRUE(RECORDED(stolen, scene.id, worker, stolen->field[F_VICTIM]));
  return stolen->field[F_VICTIM];
}

static void *push_elsewhere(void *unused)
{
  push_told(1, &scene.group);
  return unused;
}

/// Queue 0 is the worker's; who pushes first has the one after it.
static void a_steal_names_the_lane_that_was_pushed_to(void)
{
  begin(4);
  scene_hold();
  ws_group_init(&scene.group, 2);
  push_told(0, &scene.group);
  test_threads_t threads = {0};
  test_spawn(&threads, push_elsewhere, NULL);
  test_join(&threads);
  test_gate_let(&scene.gate, 1);
  ws_group_wait(&scene.group, NULL);
  scene_end();
  CU_ASSERT_EQUAL(victim_of(&scene.arg[0], 0), 1);
  CU_ASSERT_EQUAL(victim_of(&scene.arg[1], 0), 2);
}

static void a_steal_from_the_overflow_queue_says_so(void)
{
  begin(0);
  scene_hold();
  ws_group_init(&scene.group, 1);
  push_told(0, &scene.group);
  test_gate_let(&scene.gate, 1);
  ws_group_wait(&scene.group, NULL);
  scene_end();
  CU_ASSERT_EQUAL(victim_of(&scene.arg[0], 0), -1);
}

/// The middle one of three, which is waited for, lies under the newest.
static void bury(void *unused)
{
  (void)unused;
  ws_group_init(&scene.inner, 1);
  push_told(0, &scene.group);
  push_told(1, &scene.inner);
  push_told(2, &scene.group);
  ws_group_wait(&scene.inner, scene.pool);
}

static void a_steal_of_what_a_join_moved_says_so(void)
{
  begin(4);
  ws_group_init(&scene.group, 3);
  test_push(scene.pool, bury, NULL, &scene.group);
  ws_group_wait(&scene.group, NULL);
  scene_end();
  CU_ASSERT_EQUAL(victim_of(&scene.arg[0], 0), NOBODY); // its own
  CU_ASSERT_EQUAL(victim_of(&scene.arg[1], 0), NOBODY);
  CU_ASSERT_EQUAL(victim_of(&scene.arg[2], 0), -1);
}

/// The worker has a task in its queue, and stands: only who waits can take it.
static void stand_over_a_task(void *unused)
{
  (void)unused;
  test_push(scene.pool, told_and_let_go, &scene.arg[0], NULL);
  test_gate_task(&scene.gate);
}

static void begin_standing(void)
{
  begin(4);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, stand_over_a_task, NULL, &scene.group);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
}

static void a_steal_names_the_worker_whose_queue_it_was(void)
{
  begin_standing();
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
  CU_ASSERT_EQUAL(victim_of(&scene.arg[0], -1), 0);
}

static void what_a_join_finds_below_is_a_steal(void)
{
  begin_standing();
  if (scene.pool->cpus < 2)
    test_gate_let(&scene.gate, 1); // it would not look
  ws_group_wait(&scene.group, scene.pool);
  const bool looked = scene.pool->cpus > 1;
  scene_end();
  if (looked)
    CU_ASSERT_EQUAL(victim_of(&scene.arg[0], -1), 0);
}

/// A join's two events: in one thread, with the same fields.
static void expect_join(const void *group, int64_t id, int64_t worker)
{
  const recorded_t *began = recorder_find("join_begin", F_JOINED, ADDRESS(group));
  const recorded_t *ended = recorder_find("join_end", F_JOINED, ADDRESS(group));
  CU_ASSERT_TRUE_FATAL(IN_ORDER(began, ended));
  CU_ASSERT_TRUE(RECORDED(began, id, worker, ADDRESS(group)));
  CU_ASSERT_TRUE(RECORDED(ended, id, worker, ADDRESS(group)));
  CU_ASSERT_TRUE(pthread_equal(began->thread, ended->thread));
  CU_ASSERT_EQUAL(recorder_count_with("join_begin", F_JOINED, ADDRESS(group)), 1);
  CU_ASSERT_EQUAL(recorder_count_with("join_end", F_JOINED, ADDRESS(group)), 1);
}

static void a_join_is_told_from_call_to_return(void)
{
  begin(4);
  scene_hold();
  ws_group_init(&scene.group, 1);
  push_told(0, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // this thread runs the task
  test_gate_let(&scene.gate, 1);
  ws_group_init(&scene.inner, 0);
  ws_group_wait(&scene.inner, NULL); // there is nothing to wait for, and no pool
  scene_end();
  expect_join(&scene.group, scene.id, -1);
  expect_join(&scene.inner, 0, -1);
  CU_ASSERT_TRUE(IN_ORDER(recorder_find("join_begin", F_JOINED, ADDRESS(&scene.group)),
                          recorder_find("run_begin", F_ARG, ADDRESS(&scene.arg[0])),
                          recorder_find("complete", F_COMPLETED, ADDRESS(&scene.group)),
                          recorder_find("join_end", F_JOINED, ADDRESS(&scene.group))));
}

static void wait_for_its_own_pool(void *arg)
{
  told_task(arg);
  result = ws_pool_wait(scene.pool);
}

static void a_join_for_the_whole_pool_has_no_group(void)
{
  begin(4);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, wait_for_its_own_pool, &scene.arg[1], &scene.group);
  while (!ws_group_done(&scene.group))
    test_sleep_ms(1);
  CU_ASSERT_EQUAL(result, -EDEADLK); // refused: no event
  CU_ASSERT_EQUAL(recorder_count("join_begin") + recorder_count("join_end"), 0);
  scene_hold();
  test_push(scene.pool, told_and_let_go, &scene.arg[0], NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0); // this thread runs it, and so the other task ends
  expect_join(NULL, scene.id, -1);
  scene_end();
  CU_ASSERT_TRUE(
      IN_ORDER(recorder_next(NULL, "join_begin"), recorder_find("run_begin", F_ARG, ADDRESS(&scene.arg[0])),
               recorder_find("run_end", F_END_ARG, ADDRESS(&scene.gate)), recorder_next(NULL, "join_end")));
}

/// In a worker of another pool.
static void push_and_join(void *unused)
{
  (void)unused;
  push_told(0, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // it runs the task itself
}

static void a_worker_of_another_pool_is_none_here(void)
{
  begin(4);
  scene_hold();
  ws_pool_t *other = test_pool(1);
  const int64_t other_id = (int64_t)other->id;
  ws_group_init(&scene.group, 1);
  ws_group_init(&scene.inner, 1);
  test_push(other, push_and_join, NULL, &scene.inner);
  ws_group_wait(&scene.inner, NULL);
  test_destroy(other);
  test_gate_let(&scene.gate, 1);
  scene_end();
  const int64_t arg = ADDRESS(&scene.arg[0]), func = ADDRESS(told_task), group = ADDRESS(&scene.group);
  CU_ASSERT_NOT_EQUAL(scene.id, other_id);
  CU_ASSERT_TRUE(RECORDED(recorder_find("run_begin", F_FUNC, ADDRESS(push_and_join)), other_id, 0,
                          ADDRESS(push_and_join), 0, ADDRESS(&scene.inner)));
  CU_ASSERT_TRUE(RECORDED(recorder_find("push", F_ARG, arg), scene.id, -1, func, arg, group));
  CU_ASSERT_TRUE(RECORDED(recorder_find("run_begin", F_ARG, arg), scene.id, -1, func, arg, group));
  CU_ASSERT_TRUE(RECORDED(recorder_find("run_end", F_END_ARG, arg), scene.id, -1, arg));
  expect_join(&scene.group, scene.id, -1);
}

TEST_MAIN("events_find", TEST_CASE(a_steal_names_the_lane_that_was_pushed_to),
          TEST_CASE(a_steal_from_the_overflow_queue_says_so), TEST_CASE(a_steal_of_what_a_join_moved_says_so),
          TEST_CASE(a_steal_names_the_worker_whose_queue_it_was),
          TEST_CASE(what_a_join_finds_below_is_a_steal), TEST_CASE(a_join_is_told_from_call_to_return),
          TEST_CASE(a_join_for_the_whole_pool_has_no_group), TEST_CASE(a_worker_of_another_pool_is_none_here))
