// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_nested.c
/// A fiber waits for another pool, and runs its tasks and fibers on its own stack meanwhile. A task that ends
/// its thread there ends neither the fiber nor the thread.
#include <stdio.h>

#include "fiber_scene.h"

static ws_pool_t *other;

static void yield_in_other(void *unused)
{
  (void)unused;
  const char *name = ws_fiber_name();
  note(name && strcmp(name, "inner") == 0);
  note(ws_yield());
  write_letter('f');
  if (ws_load_acquire(&scene.letters) == 3)
    test_gate_let(&scene.gate, 1); // the worker of that pool may end its task
}

static void yield_in_task(void *unused)
{
  (void)unused;
  note(ws_fiber_name() == NULL && !ws_yield()); // on a fiber's stack, but not its code
  write_letter('t');
  if (ws_load_acquire(&scene.letters) == 3)
    test_gate_let(&scene.gate, 1);
}

static void wait_for_other(void *unused)
{
  (void)unused;
  const ws_fiber_options_t options = {.name = "inner", .stack_bytes = WS_FIBER_STACK_BYTES};
  note(ws_fiber_push(other, yield_in_other, NULL, NULL, &options) == 0);
  test_push(other, yield_in_task, NULL, NULL);
  note(ws_fiber_push(other, yield_in_other, NULL, NULL, &options) == 0);
  note(ws_pool_wait(other) == 0); // its only worker stands: this thread runs all three
  const char *name = ws_fiber_name();
  note(name && strcmp(name, "outer") == 0);
  note(ws_yield());
  write_letter('o');
}

static void test_wait_for_other_pool(void)
{
  const ws_fiber_options_t options = {.name = "outer", .stack_bytes = 4 * WS_FIBER_STACK_BYTES};
  scene_begin(1);
  other = test_pool(1);
  test_push(other, test_gate_task, &scene.gate, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_group_init(&scene.group, 1);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_for_other, NULL, &scene.group, &options), 0);
  CU_ASSERT(test_until(is_done, &scene.group)); // a wait would help
  CU_ASSERT_EQUAL(ws_load_acquire(&scene.letters), 4);
  CU_ASSERT_EQUAL(scene.letter[3], 'o');
  test_destroy(other);
  scene_end();
}

enum { ENDS = 3 };

static uint32_t ends_in_all;

static void end_thread(void *unused)
{
  (void)unused;
  write_letter('e');
  if (ws_load_acquire(&scene.letters) == ends_in_all)
    test_gate_let(&scene.gate, 1); // the worker of that pool may end its task
  pthread_exit(NULL);
}

static void push_ends(ws_group_t *group)
{
  for (uint32_t i = 0; i < ENDS; i++)
    test_push(other, end_thread, NULL, group);
}

/// A plain task that waits for tasks that end their thread, and ends with them.
static void wait_for_ends(void *unused)
{
  (void)unused;
  ws_group_t group;
  ws_group_init(&group, ENDS);
  push_ends(&group);
  ws_group_wait(&group, other);
  note(false);
}

/// The fiber runs as before: it has its name, and can switch.
static void check_fiber(void)
{
  const char *name = ws_fiber_name();
  note(name && strcmp(name, "fiber") == 0);
  note(ws_load_acquire(&scene.letters) == ends_in_all);
  note(ws_yield());
  write_letter('o');
}

static void wait_while_tasks_end(void *unused)
{
  push_ends(NULL);
  test_push(other, wait_for_ends, unused, NULL);
  note(ws_pool_wait(other) == 0);
  check_fiber();
}

static void stop_while_tasks_end(void *unused)
{
  (void)unused;
  push_ends(NULL);
  note(ws_pool_stop(other, WS_STOP_DRAIN) == 0);
  check_fiber();
}

static void push_where_tasks_end(void *unused)
{
  (void)unused;
  push_ends(NULL); // each runs in its push
  check_fiber();
}

#ifdef WS_TSAN
#define EXIT_IS_CHECKED 1 // its pthread_exit() does not work on a fiber's stack
#else
#define EXIT_IS_CHECKED 0
#endif

/// The fiber's group ends, its pool becomes idle, and its thread runs other fibers.
static void run_beside_ends(void (*func)(void *), uint32_t workers, uint32_t ends)
{
  if (EXIT_IS_CHECKED) {
    printf("(skipped: ThreadSanitizer) ");
    return;
  }
  scene_begin(1);
  other = test_pool(workers);
  ends_in_all = ends;
  if (workers > 0) {
    test_push(other, test_gate_task, &scene.gate, NULL); // the fiber's thread runs all tasks
    CU_ASSERT(test_gate_await(&scene.gate, 1));
  }
  ws_group_init(&scene.group, 2);
  push_fiber(func, NULL, &scene.group);
  push_fiber(yield_until_set, NULL, &scene.group);
  test_push(scene.pool, set_value, NULL, NULL);
  CU_ASSERT_FATAL(test_until(is_done, &scene.group)); // a wait would help
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene.letters), ends + 1);
  CU_ASSERT_EQUAL(scene.letter[ends], 'o');
  CU_ASSERT_EQUAL(test_warnings_with("the fiber continues"), 1);
  test_destroy(other);
  scene_end();
}

static void test_wait_while_tasks_end(void)
{
  run_beside_ends(wait_while_tasks_end, 1, 2 * ENDS);
}

static void test_stop_while_tasks_end(void)
{
  run_beside_ends(stop_while_tasks_end, 1, ENDS);
}

static void test_push_where_tasks_end(void)
{
  run_beside_ends(push_where_tasks_end, 0, ENDS);
}

TEST_MAIN("fiber_nested", TEST_CASE(test_wait_for_other_pool), TEST_CASE(test_wait_while_tasks_end),
          TEST_CASE(test_stop_while_tasks_end), TEST_CASE(test_push_where_tasks_end))
