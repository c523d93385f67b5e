// SPDX-License-Identifier: BSD-3-Clause
/// @file test_events.c
/// What the events of a task say, and where they stand: push, steal, run, complete, join (docs/tracing.md).
/// Linked with the core that records (ws_recorder.h). test_events_idle.c has those of workers and pools.
#include <errno.h>

#include "../../../include/ws_key.h"
#include "../../../include/ws_trace.h"
#include "../../../tasks/ws_group_word.h"
#include "../../../tasks/ws_places.h"
#include "../../support/ws_scene.h"

/// Of a look; one thread at a time makes them.
static struct {
  uint32_t looks, wrong;
} looked;

static void begin_with(const ws_settings_t *settings, void (*look)(const recorded_t *recorded))
{
  memset(&looked, 0, sizeof(looked));
  scene_begin(settings, look);
}

static void begin(uint32_t workers)
{
  const ws_settings_t settings = test_settings(workers);
  begin_with(&settings, NULL);
}

static void end_held(void)
{
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
}

/// A task's events and its function: in order, in one thread, with these fields.
static void expect_run(uint32_t arg, int64_t id, int64_t worker, const void *group)
{
  const int64_t address = ADDRESS(&scene.arg[arg]);
  const recorded_t *push = recorder_find("push", F_ARG, address);
  const recorded_t *run = recorder_find("run_begin", F_ARG, address);
  const recorded_t *func = recorder_find("func", 0, address);
  const recorded_t *ran = recorder_find("run_end", F_END_ARG, address);
  CU_ASSERT_TRUE_FATAL(IN_ORDER(push, run, func, ran));
  CU_ASSERT_TRUE(RECORDED(run, id, worker, ADDRESS(told_task), address, ADDRESS(group)));
  CU_ASSERT_TRUE(RECORDED(ran, id, worker, address));
  CU_ASSERT_TRUE(pthread_equal(run->thread, func->thread) && pthread_equal(ran->thread, func->thread));
  CU_ASSERT_EQUAL(recorder_count_with("push", F_ARG, address), 1);
  CU_ASSERT_EQUAL(recorder_count_with("run_begin", F_ARG, address), 1);
  CU_ASSERT_EQUAL(recorder_count_with("run_end", F_END_ARG, address), 1);
}

static void a_function_stands_between_its_begin_and_its_end(void)
{
  begin(1);
  ws_group_init(&scene.group, 1);
  push_told(0, &scene.group);
  ws_group_wait(&scene.group, NULL); // the worker runs it
  scene_hold();
  ws_group_init(&scene.group, 1);
  push_told(1, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // who waits runs it
  end_held();
  expect_run(0, scene.id, 0, &scene.group);
  expect_run(1, scene.id, -1, &scene.group);
}

static void a_task_that_runs_in_its_push_has_the_same_events(void)
{
  begin(0);
  push_told(0, NULL);
  const ws_task_t batch[2] = {{.func = told_task, .arg = &scene.arg[1]},
                              {.func = told_task, .arg = &scene.arg[2]}};
  CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, batch, 2), 2);
  ws_trace_run(told_task, &scene.arg[3]);
  scene_end();
  for (uint32_t arg = 0; arg < 3; arg++)
    expect_run(arg, scene.id, -1, NULL);
  expect_run(3, 0, -1, NULL);
}

/// The function of all tasks of an interface on the pool.
static void run_users(void *arg)
{
  ws_trace_run_as(told_task, arg);
  told_task(arg);
}

static void expect_users_function(uint32_t arg)
{
  const recorded_t *as = recorder_find("run_as", 1, ADDRESS(&scene.arg[arg]));
  const recorded_t *func = recorder_find("func", 0, ADDRESS(&scene.arg[arg]));
  const recorded_t *run = recorder_next(NULL, "run_begin");
  const recorded_t *ran = recorder_next(NULL, "run_end");
  CU_ASSERT_TRUE_FATAL(IN_ORDER(run, as, func, ran));
  CU_ASSERT_TRUE(RECORDED(as, ADDRESS(told_task), ADDRESS(&scene.arg[arg])));
  CU_ASSERT_TRUE(pthread_equal(run->thread, as->thread));
  CU_ASSERT_EQUAL(recorder_count("run_as"), 1);
}

static void a_task_of_an_interface_tells_the_users_function(void)
{
  begin(1);
  test_push(scene.pool, run_users, &scene.arg[0], NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
  expect_users_function(0);
}

static void so_does_a_task_with_a_key(void)
{
  begin(1);
  ws_key_t key;
  ws_key_init(&key);
  ws_keyed_t keyed = {.key = &key, .func = told_task, .arg = &scene.arg[1]};
  CU_ASSERT_EQUAL(ws_pool_push_keyed(scene.pool, &keyed), 0);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
  expect_users_function(1);
}

/// Push a task, and wait for it: no other thread can run it.
static void run_another(void *pool)
{
  WS_PROBE(func, ADDRESS(&scene.arg[0]));
  ws_group_init(&scene.inner, 1);
  push_told(1, &scene.inner);
  ws_group_wait(&scene.inner, pool);
}

static void a_task_inside_another_is_nested(void)
{
  begin(1);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, run_another, NULL, &scene.group);
  ws_group_wait(&scene.group, NULL);
  scene_end();
  expect_run(1, scene.id, 0, &scene.inner);
  const recorded_t *push = recorder_find("push", F_ARG, ADDRESS(&scene.arg[1]));
  CU_ASSERT_TRUE(
      RECORDED(push, scene.id, 0, ADDRESS(told_task), ADDRESS(&scene.arg[1]), ADDRESS(&scene.inner)));
  const recorded_t *join = recorder_find("join_begin", F_JOINED, ADDRESS(&scene.inner));
  const recorded_t *joined = recorder_find("join_end", F_JOINED, ADDRESS(&scene.inner));
  CU_ASSERT_TRUE(RECORDED(join, scene.id, 0, ADDRESS(&scene.inner))); // of its own pool: none was given
  CU_ASSERT_TRUE(RECORDED(joined, scene.id, 0, ADDRESS(&scene.inner)));
  CU_ASSERT_TRUE(IN_ORDER(recorder_find("run_begin", F_FUNC, ADDRESS(run_another)), push, join,
                          recorder_find("run_begin", F_ARG, ADDRESS(&scene.arg[1])),
                          recorder_find("run_end", F_END_ARG, ADDRESS(&scene.arg[1])),
                          recorder_find("complete", F_COMPLETED, ADDRESS(&scene.inner)), joined,
                          recorder_find("run_end", F_END_ARG, 0)));
}

/// Nothing can be seen yet, by this thread or another.
static void look_at_push(const recorded_t *recorded)
{
  if (strcmp(recorded->event, "push") != 0)
    return;
  looked.looks++;
  looked.wrong += ws_work_visible(&scene.pool->tasks);
}

/// @param lanes  0 = tasks go to the overflow queue
static void look_at_pushes(uint32_t lanes)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = lanes;
  begin_with(&settings, look_at_push);
  scene_hold();
  CU_ASSERT_EQUAL(looked.looks, 1);
  push_told(0, NULL);
  CU_ASSERT_EQUAL(looked.looks, 2);
  CU_ASSERT_EQUAL(looked.wrong, 0);
  CU_ASSERT_TRUE(ws_work_visible(&scene.pool->tasks));
  end_held();
}

static void a_push_is_told_before_the_task_can_be_seen(void)
{
  look_at_pushes(4);
  look_at_pushes(0);
}

static void a_batch_is_an_event_a_task_in_its_order(void)
{
  const ws_settings_t settings = test_settings(1);
  begin_with(&settings, look_at_push);
  scene_hold();
  ws_task_t batch[SCENE_TASKS];
  for (uint32_t i = 0; i < SCENE_TASKS; i++)
    batch[i] = (ws_task_t){.func = told_task, .arg = &scene.arg[i], .group = i % 2 ? &scene.group : NULL};
  ws_group_init(&scene.group, SCENE_TASKS / 2);
  CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, batch, SCENE_TASKS), SCENE_TASKS);
  CU_ASSERT_EQUAL(looked.looks, 1 + SCENE_TASKS);
  CU_ASSERT_EQUAL(looked.wrong, 0); // all stand before the first
  const recorded_t *push = recorder_find("push", F_FUNC, ADDRESS(told_task));
  for (uint32_t i = 0; i < SCENE_TASKS; i++, push = recorder_next(push, "push"))
    CU_ASSERT_TRUE_FATAL(
        RECORDED(push, scene.id, -1, ADDRESS(told_task), ADDRESS(&scene.arg[i]), ADDRESS(batch[i].group)));
  CU_ASSERT_PTR_NULL(push);
  end_held();
}

/// @param lanes  0 = tasks go to the overflow queue
static void refuse(uint32_t lanes)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = lanes;
  settings.full = WS_FULL_FAIL;
  settings.queue_capacity = 4;
  begin_with(&settings, NULL);
  scene_hold();
  const ws_task_t empty = {.func = test_empty_task}, batch[3] = {empty, empty, empty};
  int64_t taken = ws_pool_push_batch(scene.pool, batch, 3);
  for (uint32_t i = 0; i < 10; i++)
    taken += ws_pool_try_push(scene.pool, batch[0]) == 0;
  taken += ws_pool_push_batch(scene.pool, batch, 3);
  CU_ASSERT_TRUE(taken > 0 && taken < 16);
  CU_ASSERT_EQUAL(recorder_count_with("push", F_FUNC, ADDRESS(test_empty_task)), taken);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(ws_pool_push(scene.pool, batch[0]), -ECANCELED);
  CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, batch, 3), -ECANCELED);
  CU_ASSERT_EQUAL(recorder_count_with("push", F_FUNC, ADDRESS(test_empty_task)), taken);
  scene_end();
}

static void a_push_that_is_refused_is_none(void)
{
  refuse(4);
  refuse(0);
}

/// The units are not completed yet.
static void look_at_complete(const recorded_t *recorded)
{
  if (strcmp(recorded->event, "complete") != 0)
    return;
  looked.looks++;
  looked.wrong += ws_group_units(&scene.group) < recorded->field[F_UNITS];
}

static int64_t units_of(const void *group)
{
  int64_t units = 0;
  for (const recorded_t *it = NULL; (it = recorder_next(it, "complete"));)
    units += it->field[F_COMPLETED] == ADDRESS(group) ? it->field[F_UNITS] : 0;
  return units;
}

/// @param helps  the waiting thread runs them all, else the worker does
static void complete_batch(bool helps)
{
  const ws_settings_t settings = test_settings(1);
  begin_with(&settings, look_at_complete);
  scene_hold();
  ws_group_init(&scene.group, SCENE_TASKS);
  for (uint32_t i = 0; i < SCENE_TASKS; i++)
    push_told(i, &scene.group);
  if (!helps)
    test_gate_let(&scene.gate, 1);
  ws_group_wait(&scene.group, helps ? scene.pool : NULL);
  CU_ASSERT_EQUAL(units_of(&scene.group), SCENE_TASKS);
  CU_ASSERT_EQUAL(looked.wrong, 0);
  CU_ASSERT_TRUE(looked.looks > 0);
  const recorded_t *last = NULL;
  for (const recorded_t *it = NULL; (it = recorder_next(it, "complete"));)
    last = it;
  CU_ASSERT_TRUE(IN_ORDER(last, recorder_find("join_end", F_JOINED, ADDRESS(&scene.group))));
  if (helps)
    test_gate_let(&scene.gate, 1);
  scene_end();
}

static void completions_are_told_before_the_group_can_end(void)
{
  complete_batch(false);
  complete_batch(true);
}

static void a_completion_by_hand_says_how_many(void)
{
  recorder_begin(look_at_complete);
  looked.wrong = 0;
  ws_group_init(&scene.group, 10);
  ws_group_complete(&scene.group, 3);
  ws_group_complete(&scene.group, 7);
  const recorded_t *first = recorder_next(NULL, "complete");
  CU_ASSERT_TRUE(RECORDED(first, ADDRESS(&scene.group), 3));
  CU_ASSERT_TRUE(RECORDED(recorder_next(first, "complete"), ADDRESS(&scene.group), 7));
  CU_ASSERT_EQUAL(looked.wrong, 0);
}

static void a_task_without_a_group_completes_nothing(void)
{
  begin(1);
  push_told(0, NULL);
  push_told(1, ws_group_tag(&scene.group));
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
  CU_ASSERT_EQUAL(recorder_count("complete"), 0);
}

static void *let_go_when_it_stops(void *unused)
{
  while (ws_load_acquire(&scene.pool->state) == WS_RUNNING)
    test_sleep_ms(1);
  test_gate_let(&scene.gate, 1);
  return unused;
}

static void a_task_that_an_abort_skips_completes_but_does_not_run(void)
{
  begin(1);
  scene_hold();
  ws_group_init(&scene.group, 3);
  for (uint32_t i = 0; i < 3; i++)
    push_told(i, &scene.group);
  test_threads_t threads = {0};
  test_spawn(&threads, let_go_when_it_stops, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_ABORT), 3);
  test_join(&threads);
  scene_end();
  CU_ASSERT_EQUAL(recorder_count_with("push", F_FUNC, ADDRESS(told_task)), 3);
  CU_ASSERT_EQUAL(recorder_count("run_begin"), 1); // of the task in the gate
  CU_ASSERT_EQUAL(recorder_count("run_end"), 1);
  CU_ASSERT_EQUAL(units_of(&scene.group), 3);
}

static bool has_run(void *arg)
{
  return recorder_find("func", 0, ADDRESS(arg));
}

static void rest(void *unused)
{
  (void)unused;
  test_sleep_ms(1);
}

static void a_tag_is_told_as_the_address_that_it_is_made_of(void)
{
  begin(1);
  scene_hold();
  const ws_event_t event = {.ready = has_run, .sleep = rest, .arg = &scene.arg[0]};
  push_told(0, ws_group_tag(&scene.group));
  ws_pool_await(scene.pool, ws_group_tag(&scene.group), &event); // this thread runs it
  push_told(1, ws_group_weak_tag(&scene.inner)); // the worker does
  end_held();
  for (uint32_t i = 0; i < 2; i++) {
    const void *group = i == 0 ? &scene.group : &scene.inner;
    CU_ASSERT_EQUAL(ADDRESS(group) % 4, 0);
    const recorded_t *push = recorder_find("push", F_ARG, ADDRESS(&scene.arg[i]));
    const recorded_t *run = recorder_find("run_begin", F_ARG, ADDRESS(&scene.arg[i]));
    CU_ASSERT_TRUE_FATAL(push && run);
    CU_ASSERT_EQUAL(push->field[F_GROUP], ADDRESS(group));
    CU_ASSERT_EQUAL(run->field[F_GROUP], ADDRESS(group));
  }
  CU_ASSERT_TRUE(RECORDED(recorder_next(NULL, "join_begin"), scene.id, -1, ADDRESS(&scene.group)));
  CU_ASSERT_TRUE(RECORDED(recorder_next(NULL, "join_end"), scene.id, -1, ADDRESS(&scene.group)));
}

TEST_MAIN("events", TEST_CASE(a_function_stands_between_its_begin_and_its_end),
          TEST_CASE(a_task_that_runs_in_its_push_has_the_same_events),
          TEST_CASE(a_task_of_an_interface_tells_the_users_function), TEST_CASE(so_does_a_task_with_a_key),
          TEST_CASE(a_task_inside_another_is_nested), TEST_CASE(a_push_is_told_before_the_task_can_be_seen),
          TEST_CASE(a_batch_is_an_event_a_task_in_its_order), TEST_CASE(a_push_that_is_refused_is_none),
          TEST_CASE(completions_are_told_before_the_group_can_end),
          TEST_CASE(a_completion_by_hand_says_how_many), TEST_CASE(a_task_without_a_group_completes_nothing),
          TEST_CASE(a_task_that_an_abort_skips_completes_but_does_not_run),
          TEST_CASE(a_tag_is_told_as_the_address_that_it_is_made_of))
