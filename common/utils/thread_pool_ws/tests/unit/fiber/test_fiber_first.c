// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_first.c
/// What the first fiber of a process changes for signals.

#include "fiber_scene.h"

static void run_one(void)
{
  scene_begin(1);
  push_fiber(set_value, NULL, NULL);
  ws_pool_wait(scene.pool);
  scene_end();
}

static int raise_default(void *unused)
{
  run_one();
  raise(SIGSEGV);
  return 0;
}

static int raise_ignored(void *unused)
{
  signal(SIGSEGV, SIG_IGN);
  run_one();
  raise(SIGSEGV);
  raise(SIGSEGV);
  return 3;
}

/// A SIGSEGV that a program sends does what it did before there were fibers.
TEST_CASE(test_sent_signal)
{
  const int by_default = test_in_child(raise_default, NULL);
  CU_ASSERT(TEST_SANITIZED ? by_default != 0 : by_default == 128 + SIGSEGV);
  CU_ASSERT_EQUAL(test_in_child(raise_ignored, NULL), 3);
}

enum { INTERRUPTED_FIBERS = 8, TURNS = 100 };

static void yield_and_sleep(void *unused)
{
  for (uint32_t i = 0; i < TURNS; i++) {
    note(ws_yield());
    note(ws_sleep_ns(1000) == 0);
  }
}

static void switch_and_sleep(void)
{
  ws_group_init(&scene.group, INTERRUPTED_FIBERS);
  for (uint32_t i = 0; i < INTERRUPTED_FIBERS; i++)
    push_fiber(yield_and_sleep, NULL, &scene.group);
  ws_group_wait(&scene.group, NULL);
}

/// Handlers run on the stacks of fibers, while these switch, and while their workers sleep.
TEST_CASE(test_handlers_on_workers)
{
  scene_begin(2);
  CU_ASSERT_TRUE(test_interrupt(scene.pool, 0, switch_and_sleep));
  CU_ASSERT_TRUE(test_interrupt(scene.pool, SA_ONSTACK, switch_and_sleep));
  scene_end();
}

TEST_MAIN("fiber_first")
