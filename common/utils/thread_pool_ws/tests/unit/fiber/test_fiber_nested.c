// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_nested.c
/// A fiber waits for another pool, and runs its tasks and fibers on its own stack meanwhile.
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

TEST_MAIN("fiber_nested", TEST_CASE(test_wait_for_other_pool))
