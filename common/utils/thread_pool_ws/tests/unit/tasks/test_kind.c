// SPDX-License-Identifier: BSD-3-Clause
/// @file test_kind.c
/// Marks of waits in the queue of a kind: which tasks there a wait may run.
#include "../../../pool/ws_lane.h"
#include "../../../tasks/ws_dig.h"
#include "../../support/ws_test.h"

static ws_pool_t *pool; ///< without workers: no other thread looks at the lane
static ws_queue_t *lane;
static ws_mark_t marks[2];
static ws_group_t groups[2];

static void begin(void)
{
  pool = test_pool(0);
  lane = ws_here(pool).queue;
  CU_ASSERT_PTR_NOT_NULL_FATAL(lane);
}

static void end(void)
{
  ws_task_t task;
  lane->mark = NULL;
  while (ws_queue_take_any(&pool->tasks, lane, &task))
    continue;
  test_destroy(pool);
}

static void push(const char *letter, ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = (void *)(uintptr_t)letter, .group = group};
  ws_deque_t *deque = ws_queue_room(&pool->tasks, lane, WS_KIND_HIGH, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(deque);
  ws_queue_push_kind(&pool->tasks, deque, WS_KIND_HIGH, &task);
}

static void begin_wait(uint32_t wait)
{
  marks[wait].outer = lane->mark;
  ws_dig_mark(lane, &marks[wait]);
  lane->mark = &marks[wait];
}

/// The innermost wait is for the group of that index. @return the letter of the task that it finds
static char find(uint32_t wait)
{
  ws_task_t task;
  bool hid = false;
  if (!ws_dig_top(&pool->tasks, lane, WS_KIND_HIGH, &groups[wait], false, &task)
      && !ws_dig_under(&pool->tasks, lane, WS_KIND_HIGH, &groups[wait], false, &task, &hid))
    return '-';
  CU_ASSERT_EQUAL(task.priority, WS_PRIORITY_HIGH);
  return *(const char *)task.arg;
}

/// An inner wait takes its task from under one that was pushed since the outer wait began.
static void a_dig_does_not_take_a_task_from_an_outer_wait(void)
{
  begin();
  push("u", NULL);
  push("g", &groups[1]);
  begin_wait(0);
  push("c", NULL); // by a task of the outer wait
  begin_wait(1);
  CU_ASSERT_EQUAL(find(1), 'g');
  CU_ASSERT_EQUAL(find(1), '-');
  lane->mark = &marks[0];
  CU_ASSERT_EQUAL(find(0), 'c');
  CU_ASSERT_EQUAL(find(0), '-');
  end();
}

/// A wait takes its newest task, which lay below its mark: what that task pushes lies there again.
static void a_wait_runs_what_its_task_pushes(void)
{
  begin();
  push("u", NULL);
  push("g", &groups[0]);
  begin_wait(0);
  CU_ASSERT_EQUAL(find(0), 'g');
  push("c", NULL);
  CU_ASSERT_EQUAL(find(0), 'c');
  CU_ASSERT_EQUAL(find(0), '-');
  end();
}

/// The first push of a kind comes while waits are under way: its task is theirs.
static void waits_that_began_before_the_queues(void)
{
  begin();
  for (uint32_t i = 0; i < 2; i++) {
    memset(&marks[i], 0x7f, sizeof(marks[i]));
    marks[i].outer = lane->mark;
    lane->mark = &marks[i];
  }
  push("c", NULL);
  push("d", NULL);
  CU_ASSERT_EQUAL(find(1), 'd');
  lane->mark = &marks[0];
  CU_ASSERT_EQUAL(find(0), 'c');
  end();
}

/// A thread outside digs no deeper than WS_DIG_DEPTH_MAX, and moves nothing if its task lies deeper.
static void a_thread_outside_digs_to_a_depth(void)
{
  begin();
  push("u", NULL); // a wait takes the oldest task without digging
  push("g", &groups[0]);
  for (uint32_t i = 0; i < WS_DIG_DEPTH_MAX; i++)
    push("u", NULL);
  begin_wait(0);
  const ws_deque_t *deque = ws_queue_deque(lane, 2 * WS_KIND_HIGH);
  CU_ASSERT_EQUAL(find(0), '-');
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque->takes), 0); // relaxed: one thread, here and below
  ws_task_t task;
  CU_ASSERT_TRUE(ws_queue_take_any(&pool->tasks, lane, &task));
  CU_ASSERT_EQUAL(find(0), 'g');
  CU_ASSERT_EQUAL(ws_load_relaxed(&deque->takes), 1 + WS_DIG_DEPTH_MAX);
  end();
}

enum { MANY = 512 };

static struct {
  ws_pool_t *pool;
  ws_group_t group, inner;
  uint64_t takes; ///< from the worker's queue while it waited
  uint64_t moved; ///< to the aside deque while it waited
  uint32_t aside; ///< tasks there when the wait was over
  uint32_t high; ///< tasks that ran with high priority after the wait
  bool over;
} scene;

static void push_to_worker(void (*func)(void *), ws_group_t *group)
{
  const ws_task_t task = {.func = func, .group = group, .priority = WS_PRIORITY_HIGH};
  if (ws_pool_push(scene.pool, task) != 0)
    ws_add_relaxed(&test_refused, 1);
}

/// Unrelated to the wait.
static void unrelated(void *unused)
{
  (void)unused;
  scene.high += scene.over && ws_current_task()->priority == WS_PRIORITY_HIGH;
}

static void wait_and_count(void)
{
  const ws_queue_t *queue = ws_here(scene.pool).queue;
  const ws_deque_t *deque = ws_queue_deque(queue, 2 * WS_KIND_HIGH);
  const ws_deque_t *aside = ws_queue_deque(queue, 2 * WS_KIND_HIGH + 1);
  ws_group_wait(&scene.group, scene.pool);
  scene.takes = ws_load_relaxed(&deque->takes); // relaxed: the worker's own, here and below
  scene.moved = ws_load_relaxed(&aside->bottom) - 1;
  scene.aside = (uint32_t)ws_deque_size(aside);
  scene.over = true;
}

/// All tasks of the group lie under all others.
static void wait_under_many(void *unused)
{
  (void)unused;
  push_to_worker(unrelated, NULL); // a wait takes the oldest task without digging
  for (uint32_t i = 0; i < MANY; i++)
    push_to_worker(test_empty_task, &scene.group);
  for (uint32_t i = 0; i < MANY; i++)
    push_to_worker(unrelated, NULL);
  wait_and_count();
}

/// Under each unrelated task lies one of the group.
static void wait_between_many(void *unused)
{
  (void)unused;
  push_to_worker(unrelated, NULL); // a wait takes the oldest task without digging
  for (uint32_t i = 0; i < MANY; i++) {
    push_to_worker(test_empty_task, &scene.group);
    push_to_worker(unrelated, NULL);
  }
  wait_and_count();
}

static void run_scene(void (*func)(void *), uint32_t units)
{
  memset(&scene, 0, sizeof(scene));
  ws_settings_t settings = test_settings(1);
  scene.pool = test_create(&settings);
  ws_group_init(&scene.group, units);
  test_push(scene.pool, func, NULL, NULL);
  CU_ASSERT_TRUE(test_until_quiet(scene.pool));
  test_destroy(scene.pool);
}

/// A worker moves each unrelated task once, however many tasks of its group lie below it. The moved tasks
/// keep their priority.
static void a_worker_moves_each_task_once(void)
{
  run_scene(wait_under_many, MANY);
  CU_ASSERT_EQUAL(scene.takes, 2 * MANY);
  CU_ASSERT_EQUAL(scene.moved, MANY);
  CU_ASSERT_EQUAL(scene.aside, MANY);
  CU_ASSERT_EQUAL(scene.high, MANY + 1);
  run_scene(wait_between_many, MANY);
  CU_ASSERT_TRUE(scene.takes <= 3 * MANY); // one search in 61 reaches under 64 tasks
  CU_ASSERT_TRUE(scene.moved <= MANY);
  CU_ASSERT_EQUAL(scene.high, MANY + 1);
}

static void wait_for_inner(void *unused)
{
  (void)unused;
  ws_group_wait(&scene.inner, scene.pool);
}

/// The outer wait moves the tasks aside for which the task that it finds waits.
static void wait_for_what_lies_aside(void *unused)
{
  (void)unused;
  ws_group_init(&scene.inner, MANY);
  push_to_worker(unrelated, NULL);
  push_to_worker(wait_for_inner, &scene.group);
  for (uint32_t i = 0; i < MANY; i++) {
    push_to_worker(unrelated, NULL);
    push_to_worker(test_empty_task, &scene.inner);
  }
  wait_and_count();
}

static void a_wait_finds_what_lies_aside(void)
{
  run_scene(wait_for_what_lies_aside, 1);
  CU_ASSERT_TRUE(scene.over);
  CU_ASSERT_TRUE(scene.takes > 2 * MANY && scene.takes <= 3 * MANY);
  CU_ASSERT_TRUE(scene.moved <= 3 * MANY); // once from the queue, once to reach the inner group's tasks
  CU_ASSERT_EQUAL(scene.high, MANY + 1);
}

TEST_MAIN("kind", TEST_CASE(a_dig_does_not_take_a_task_from_an_outer_wait),
          TEST_CASE(a_wait_runs_what_its_task_pushes), TEST_CASE(waits_that_began_before_the_queues),
          TEST_CASE(a_thread_outside_digs_to_a_depth), TEST_CASE(a_worker_moves_each_task_once),
          TEST_CASE(a_wait_finds_what_lies_aside))
