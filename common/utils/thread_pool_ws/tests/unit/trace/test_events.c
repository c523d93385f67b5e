// SPDX-License-Identifier: BSD-3-Clause
/// @file test_events.c
/// What the events of a task say, and in which order they stand: push, steal, run, complete, join
/// (docs/tracing.md). Linked with the core that records (ws_recorder.h). test_events_idle.c has those of
/// workers and pools, test_phases.c those of phases.
#include <errno.h>

#include "../../../include/ws_key.h"
#include "../../../include/ws_trace.h"
#include "../../../include/ws_trace_slot.h"
#include "../../../tasks/ws_queue.h"
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

/// One worker. @param lanes  0 = tasks go to the overflow queue
static void begin_lanes(uint32_t lanes, ws_full_t full, void (*look)(const recorded_t *recorded))
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = lanes;
  settings.full = full;
  settings.queue_capacity = full == WS_FULL_FAIL ? 4 : settings.queue_capacity;
  begin_with(&settings, look);
}

static void end_held(void)
{
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  scene_end();
}

/// @return whether two events with that value are there once each, in this order, by one thread
static bool is_pair(const char *first, const char *second, uint32_t field, uint32_t second_field,
                    int64_t value)
{
  const recorded_t *one = recorder_find(first, field, value);
  const recorded_t *other = recorder_find(second, second_field, value);
  return one && other && one < other && pthread_equal(one->thread, other->thread)
         && recorder_count_with(first, field, value) == 1
         && recorder_count_with(second, second_field, value) == 1;
}

/// A task's events and its function: in order, in one thread, with these fields.
static void expect_run(uint32_t arg, int64_t id, int64_t worker, int64_t group)
{
  EXPECT({"push", {ANY, ANY, TOLD, ARG(arg), group}}, {"run_begin", {id, worker, TOLD, ARG(arg), group}},
         {"func", {ARG(arg)}}, {"run_end", {id, worker, ARG(arg), group}});
  CU_ASSERT_TRUE(is_pair("run_begin", "func", F_ARG, 0, ARG(arg)));
  CU_ASSERT_TRUE(is_pair("run_begin", "run_end", F_ARG, F_END_ARG, ARG(arg)));
  CU_ASSERT_EQUAL(recorder_count_with("push", F_ARG, ARG(arg)), 1);
}

TEST_CASE(a_function_stands_between_its_begin_and_its_end)
{
  scene_begin_pool(1);
  ws_group_init(&scene.group, 1);
  push_told(0, &scene.group);
  ws_group_wait(&scene.group, NULL); // the worker runs it
  scene_hold();
  ws_group_init(&scene.group, 1);
  push_told(1, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // who waits runs it
  end_held();
  expect_run(0, scene.id, 0, GROUP);
  expect_run(1, scene.id, -1, GROUP);
}

TEST_CASE(a_task_that_runs_in_its_push_has_the_same_events)
{
  scene_begin_pool(0);
  push_told(0, NULL);
  const ws_task_t batch[2] = {{.func = told_task, .arg = &scene.arg[1]},
                              {.func = told_task, .arg = &scene.arg[2]}};
  CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, batch, 2), 2);
  ws_trace_run(told_task, &scene.arg[3]);
  scene_end();
  for (uint32_t arg = 0; arg < 4; arg++)
    expect_run(arg, arg < 3 ? scene.id : 0, -1, 0);
}

/// The function of all tasks of an interface on the pool.
static void run_users(void *arg)
{
  ws_trace_run_as(told_task, arg);
  told_task(arg);
}

/// Of a task of an interface, and of one with a key.
TEST_CASE(the_users_function_is_told)
{
  for (uint32_t arg = 0; arg < 2; arg++) {
    ws_key_t key;
    ws_key_init(&key);
    ws_keyed_t keyed = {.key = &key, .func = told_task, .arg = &scene.arg[1]};
    scene_begin_pool(1);
    if (arg == 0)
      test_push(scene.pool, run_users, &scene.arg[0], NULL);
    else
      CU_ASSERT_EQUAL(ws_pool_push_keyed(scene.pool, &keyed), 0);
    CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
    scene_end();
    EXPECT({"run_begin", {scene.id, ANY, ANY, ANY, ANY}}, {"run_as", {TOLD, ARG(arg)}}, {"func", {ARG(arg)}},
           {"run_end", {scene.id, ANY, ANY, ANY}});
    CU_ASSERT_TRUE(is_pair("run_as", "func", 1, 0, ARG(arg)));
    CU_ASSERT_EQUAL(recorder_count("run_as"), 1);
  }
}

/// Nothing can be seen yet, by this thread or another.
static void look_at_push(const recorded_t *recorded)
{
  if (strcmp(recorded->event, "push") != 0)
    return;
  looked.looks++;
  looked.wrong += ws_work_visible(&scene.pool->tasks);
}

/// Of a batch to a lane, all events stand before its first task.
TEST_CASE(a_push_is_told_before_the_task_can_be_seen)
{
  for (uint32_t lanes = 0; lanes <= 4; lanes += 4) {
    begin_lanes(lanes, WS_FULL_GROW, look_at_push);
    scene_hold();
    ws_task_t batch[SCENE_TASKS];
    for (uint32_t i = 0; i < SCENE_TASKS; i++)
      batch[i] = (ws_task_t){.func = told_task, .arg = &scene.arg[i], .group = i % 2 ? &scene.group : NULL};
    ws_group_init(&scene.group, SCENE_TASKS / 2);
    CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, batch, SCENE_TASKS), SCENE_TASKS);
    CU_ASSERT_EQUAL(looked.looks, 1 + SCENE_TASKS);
    CU_ASSERT_TRUE(lanes == 0 || looked.wrong == 0);
    const recorded_t *push = recorder_find("push", F_FUNC, TOLD);
    for (uint32_t i = 0; i < SCENE_TASKS; i++, push = recorder_next(push, "push"))
      CU_ASSERT_TRUE_FATAL(RECORDED(push, scene.id, -1, TOLD, ARG(i), ADDRESS(batch[i].group)));
    CU_ASSERT_PTR_NULL(push);
    end_held();
    begin_lanes(lanes, WS_FULL_GROW, look_at_push);
    scene_hold();
    push_told(0, NULL);
    CU_ASSERT_TRUE(looked.looks == 2 && looked.wrong == 0);
    CU_ASSERT_TRUE(ws_work_visible(&scene.pool->tasks));
    end_held();
  }
}

/// Nor a task of a phase.
TEST_CASE(a_push_that_is_refused_is_none)
{
  for (uint32_t lanes = 0; lanes <= 4; lanes += 4) {
    begin_lanes(lanes, WS_FULL_FAIL, NULL);
    scene_hold();
    ws_trace_phase_begin(WS_TRACE_ULSCH_DECODING, 1, 2, 3);
    const ws_task_t empty = {.func = test_empty_task}, batch[3] = {empty, empty, empty};
    int64_t taken = ws_pool_push_batch(scene.pool, batch, 3);
    for (uint32_t i = 0; i < 10; i++)
      taken += ws_pool_try_push(scene.pool, empty) == 0;
    taken += ws_pool_push_batch(scene.pool, batch, 3);
    CU_ASSERT_TRUE(taken > 0 && taken < 16);
    ws_trace_phase_end(WS_TRACE_ULSCH_DECODING);
    CU_ASSERT_TRUE(RECORDED(recorder_next(NULL, "ulsch_decoding_end"), 1, 2, 3, taken));
    test_gate_let(&scene.gate, 1);
    CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
    CU_ASSERT_EQUAL(ws_pool_push(scene.pool, empty), -ECANCELED);
    CU_ASSERT_EQUAL(ws_pool_push_batch(scene.pool, batch, 3), -ECANCELED);
    CU_ASSERT_EQUAL(recorder_count_with("push", F_FUNC, ADDRESS(test_empty_task)), taken);
    scene_end();
  }
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

/// Of tasks that the worker runs, or the thread that waits; and by hand.
TEST_CASE(completions_are_told_before_the_group_can_end)
{
  for (uint32_t helps = 0; helps < 2; helps++) {
    begin_lanes(4, WS_FULL_GROW, look_at_complete);
    scene_hold();
    ws_group_init(&scene.group, SCENE_TASKS);
    for (uint32_t i = 0; i < SCENE_TASKS; i++)
      push_told(i, &scene.group);
    test_gate_let(&scene.gate, helps ? 0 : 1);
    ws_group_wait(&scene.group, helps ? scene.pool : NULL);
    CU_ASSERT_EQUAL(units_of(&scene.group), SCENE_TASKS);
    CU_ASSERT_TRUE(looked.looks > 0 && looked.wrong == 0);
    const recorded_t *joined = recorder_find("join_end", F_JOINED, GROUP);
    CU_ASSERT_TRUE(joined && !recorder_next(joined, "complete"));
    test_gate_let(&scene.gate, helps ? 1 : 0);
    scene_end();
  }
  recorder_begin(look_at_complete);
  ws_group_init(&scene.group, 10);
  ws_group_complete(&scene.group, 3);
  ws_group_complete(&scene.group, 7);
  EXPECT({"complete", {GROUP, 3}}, {"complete", {GROUP, 7}});
  CU_ASSERT_EQUAL(looked.wrong, 0);
}

static void *let_go_when_it_stops(void *unused)
{
  while (ws_load_acquire(&scene.pool->state) == WS_RUNNING)
    test_sleep_ms(1);
  test_gate_let(&scene.gate, 1);
  return unused;
}

TEST_CASE(a_task_that_an_abort_skips_completes_but_does_not_run)
{
  scene_begin_pool(1);
  scene_hold();
  ws_group_init(&scene.group, 3);
  for (uint32_t i = 0; i < 3; i++)
    push_told(i, &scene.group);
  test_threads_t threads = {0};
  test_spawn(&threads, let_go_when_it_stops, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_ABORT), 3);
  test_join(&threads);
  scene_end();
  CU_ASSERT_EQUAL(recorder_count_with("push", F_FUNC, TOLD), 3);
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
  test_sleep_ms(1);
}

/// It has no units: nothing completes it.
TEST_CASE(a_tag_is_told_as_the_address_that_it_is_made_of)
{
  scene_begin_pool(1);
  scene_hold();
  const ws_event_t event = {.ready = has_run, .sleep = rest, .arg = &scene.arg[0]};
  push_told(0, ws_group_tag(&scene.group));
  ws_pool_await(scene.pool, ws_group_tag(&scene.group), &event); // this thread runs it
  push_told(1, ws_group_weak_tag(&scene.inner)); // the worker does
  end_held();
  CU_ASSERT_TRUE(GROUP % 4 == 0 && INNER % 4 == 0);
  EXPECT({"push", {scene.id, -1, TOLD, ARG(0), GROUP}}, {"join_begin", {scene.id, -1, GROUP}},
         {"run_begin", {scene.id, -1, TOLD, ARG(0), GROUP}}, {"join_end", {scene.id, -1, GROUP, ANY}},
         {"push", {scene.id, -1, TOLD, ARG(1), INNER}}, {"run_begin", {scene.id, ANY, TOLD, ARG(1), INNER}});
  CU_ASSERT_EQUAL(recorder_count("complete"), 0);
}

#define NOBODY INT64_MAX

/// @return the victim of the thread's last steal before a task's begin, unless it has begun another since
static int64_t victim_of(uint32_t arg, int64_t worker)
{
  const recorded_t *run = recorder_find("run_begin", F_ARG, ARG(arg)), *stolen = NULL, *other = NULL;
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

/// Queue 0 is the worker's; who pushes first has the one after it. Without lanes it is the overflow queue.
TEST_CASE(a_steal_names_the_lane_that_was_pushed_to)
{
  for (uint32_t lanes = 0; lanes <= 4; lanes += 4) {
    begin_lanes(lanes, WS_FULL_GROW, NULL);
    scene_hold();
    ws_group_init(&scene.group, 2);
    push_told(0, &scene.group);
    test_threads_t threads = {0};
    test_spawn(&threads, push_elsewhere, NULL);
    test_join(&threads);
    test_gate_let(&scene.gate, 1);
    ws_group_wait(&scene.group, NULL);
    scene_end();
    CU_ASSERT_EQUAL(victim_of(0, 0), lanes ? 1 : -1);
    CU_ASSERT_EQUAL(victim_of(1, 0), lanes ? 2 : -1);
  }
}

/// The middle ones of four, which are waited for, lie under the newest.
static void bury(void *unused)
{
  ws_group_init(&scene.inner, 2);
  push_told(0, &scene.group);
  push_told(1, &scene.inner);
  push_told(2, &scene.inner);
  push_told(3, &scene.group);
  ws_group_wait(&scene.inner, scene.pool);
}

TEST_CASE(a_steal_of_what_a_join_moved_says_so)
{
  scene_begin_pool(1);
  ws_group_init(&scene.group, 3);
  test_push(scene.pool, bury, NULL, &scene.group);
  ws_group_wait(&scene.group, NULL);
  scene_end();
  CU_ASSERT_EQUAL(victim_of(0, 0), NOBODY); // its own
  CU_ASSERT_EQUAL(victim_of(1, 0), -1);
  CU_ASSERT_EQUAL(victim_of(2, 0), NOBODY);
  CU_ASSERT_EQUAL(victim_of(3, 0), NOBODY);
}

static int result; ///< of a wait in a task

static void wait_for_its_own_pool(void *arg)
{
  told_task(arg);
  result = ws_pool_wait(scene.pool);
}

/// For a group, for nothing and no pool, and for the whole pool. A wait that is refused has no event.
TEST_CASE(a_join_is_told_from_call_to_return)
{
  scene_begin_pool(1);
  scene_hold();
  ws_group_init(&scene.group, 1);
  push_told(0, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // this thread runs the task
  test_gate_let(&scene.gate, 1);
  ws_group_init(&scene.inner, 0);
  ws_group_wait(&scene.inner, NULL);
  scene_end();
  EXPECT({"join_begin", {scene.id, -1, GROUP}}, {"run_begin", {scene.id, -1, TOLD, ARG(0), GROUP}},
         {"complete", {GROUP, 1}}, {"join_end", {scene.id, -1, GROUP, ANY}}, {"join_begin", {0, -1, INNER}},
         {"join_end", {0, -1, INNER, ANY}});
  CU_ASSERT_TRUE(is_pair("join_begin", "join_end", F_JOINED, F_JOINED, GROUP));
  CU_ASSERT_TRUE(is_pair("join_begin", "join_end", F_JOINED, F_JOINED, INNER));
  const recorded_t *first = recorder_find("join_end", F_JOINED, GROUP);
  CU_ASSERT_EQUAL(recorder_find("join_end", F_JOINED, INNER)->field[3], first->field[3] + 1);
  scene_begin_pool(1);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, wait_for_its_own_pool, &scene.arg[1], &scene.group);
  while (!ws_group_done(&scene.group))
    test_sleep_ms(1);
  CU_ASSERT_EQUAL(result, -EDEADLK);
  ws_key_t key;
  ws_key_init(&key);
  CU_ASSERT_EQUAL(ws_pool_cancel_wait(scene.pool, &key), 0); // it has nothing to wait for
  CU_ASSERT_EQUAL(recorder_count("join_begin") + recorder_count("join_end"), 0);
  scene_hold();
  test_push(scene.pool, told_and_let_go, &scene.arg[0], NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0); // this thread runs it, and so the other task ends
  EXPECT({"join_begin", {scene.id, -1, 0}},
         {"run_begin", {scene.id, -1, ADDRESS(told_and_let_go), ARG(0), ANY}},
         {"run_end", {scene.id, 0, ADDRESS(&scene.gate), ANY}}, {"join_end", {scene.id, -1, 0, ANY}});
  CU_ASSERT_TRUE(is_pair("join_begin", "join_end", F_JOINED, F_JOINED, 0));
  scene_end();
}

/// A worker that parked before has events of its sleep, too.
static void end_when_the_wait_sleeps(void *unused)
{
  while (recorder_count_with("sleep_begin", 1, -1) == 0)
    test_sleep_ms(1);
}

/// For a group, and for the pool.
TEST_CASE(a_wait_tells_that_it_sleeps)
{
  for (uint32_t of_group = 0; of_group < 2; of_group++) {
    scene_begin_pool(1);
    ws_group_init(&scene.group, 1);
    test_push(scene.pool, end_when_the_wait_sleeps, NULL, of_group ? &scene.group : NULL);
    while (recorder_count("run_begin") == 0)
      test_sleep_ms(1);
    if (of_group)
      ws_group_wait(&scene.group, scene.pool);
    else
      ws_pool_wait(scene.pool);
    scene_end();
    EXPECT({"join_begin", {scene.id, -1, of_group ? GROUP : 0}}, {"sleep_begin", {scene.id, -1}},
           {"sleep_end", {scene.id, -1}}, {"join_end", {scene.id, -1, of_group ? GROUP : 0, ANY}});
  }
}

/// In a worker of another pool.
static void push_and_join(void *unused)
{
  push_told(0, &scene.group);
  ws_group_wait(&scene.group, scene.pool); // it runs the task itself
}

TEST_CASE(a_worker_of_another_pool_is_none_here)
{
  scene_begin_pool(1);
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
  CU_ASSERT_NOT_EQUAL(scene.id, other_id);
  EXPECT({"run_begin", {other_id, 0, ADDRESS(push_and_join), 0, INNER}},
         {"push", {scene.id, -1, TOLD, ARG(0), GROUP}}, {"join_begin", {scene.id, -1, GROUP}},
         {"run_begin", {scene.id, -1, TOLD, ARG(0), GROUP}}, {"run_end", {scene.id, -1, ARG(0), GROUP}},
         {"join_end", {scene.id, -1, GROUP, ANY}});
}

TEST_MAIN("events")
