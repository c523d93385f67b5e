// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_until.c
/// A fiber waits for a group with a deadline. Linked with --wrap=ws_os_now_ns and
/// --wrap=ws_os_futex_wait_until: the clock jumps when the test says so.
#include "fiber_clock.h"
#include "fiber_scene.h"

static ws_group_t awaited;

/// The deadline of the parked fiber passes.
static void letter_b(void *unused)
{
  (void)unused;
  write_letter('b');
  jump();
}

/// The only worker runs another task while the fiber is parked.
static void parks_until_the_deadline(void *unused)
{
  (void)unused;
  test_push(scene.pool, letter_b, NULL, NULL);
  note(ws_group_wait_until(&awaited, scene.pool, ws_os_now_ns()) == -ETIMEDOUT); // does not park
  write_letter('a');
  note(ws_group_wait_until(&awaited, scene.pool, ws_os_now_ns() + HOUR_NS / 2) == -ETIMEDOUT);
  write_letter('c');
  note(!ws_group_done(&awaited));
  test_gate_let(&scene.gate, 1);
  note(ws_group_wait_until(&awaited, scene.pool, UINT64_MAX) == 0);
  note(ws_group_wait_until(&awaited, scene.pool, 0) == 0);
  write_letter('d');
}

static void test_deadlines(void)
{
  scene_begin(1);
  ws_group_init(&awaited, 1);
  ws_group_init(&scene.group, 1);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, parks_until_the_deadline, NULL, &scene.group, NULL), 0);
  test_gate_task(&scene.gate);
  ws_group_complete(&awaited, 1);
  ws_group_wait(&scene.group, scene.pool);
  CU_ASSERT_STRING_EQUAL(scene.letter, "abcd");
  scene_end();
}

static void in_time(void *unused)
{
  (void)unused;
  test_gate_let(&scene.gate, 1);
  note(ws_group_wait_until(&awaited, scene.pool, ws_os_now_ns() + HOUR_NS) == 0);
}

static void test_in_time(void)
{
  for (uint32_t round = 0; round < 100; round++) {
    scene_begin(1);
    ws_group_init(&awaited, 1);
    ws_group_init(&scene.group, 1);
    CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, in_time, NULL, &scene.group, NULL), 0);
    test_gate_task(&scene.gate);
    ws_group_complete(&awaited, 1);
    ws_group_wait(&scene.group, scene.pool);
    scene_end();
  }
}

/// Many parks and time limits, on two workers.
static void short_waits(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < 20; i++)
    note(ws_group_wait_until(&awaited, NULL, ws_os_now_ns() + 50000) == -ETIMEDOUT);
}

static void test_many(void)
{
  scene_begin(2);
  ws_group_init(&awaited, 1);
  for (uint32_t i = 0; i < 100; i++)
    CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, short_waits, NULL, NULL, NULL), 0);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  ws_group_complete(&awaited, 1);
  scene_end();
}

TEST_MAIN_SEAMS(clock_seams, "fiber_until", TEST_CASE(test_deadlines), TEST_CASE(test_in_time),
                TEST_CASE(test_many))
