// SPDX-License-Identifier: BSD-3-Clause
/// @file test_survive_many.c
/// Many tasks that end the thread that runs them, one after the other: it goes on at the same depth of
/// its stack, and a worker ends like any other. Cases run in child processes, for a hang ends with that.
#include <stdio.h>

#include "../../support/ws_test.h"

enum { MANY = 1000 };

static struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_group_t group;
  bool cancels;
  uint32_t ends; ///< of one thread
  uintptr_t highest, lowest; ///< addresses on the stack in the tasks
  ws_au64_t after_wait, stopped;
} scene;

static void end_thread(void *unused)
{
  (void)unused;
  const uintptr_t here = (uintptr_t)__builtin_frame_address(0);
  scene.highest = scene.highest > here ? scene.highest : here;
  scene.lowest = scene.ends++ > 0 && scene.lowest < here ? scene.lowest : here;
  if (scene.cancels) {
    pthread_cancel(pthread_self());
    pthread_testcancel();
  }
  pthread_exit(NULL); // also when it was cancelled before: that works only once
}

static void note_stop(void *unused, const ws_observation_t *observation)
{
  (void)unused;
  if (observation->what == WS_OBSERVED_STOP)
    ws_add_relaxed(&scene.stopped, 1);
}

static void begin(const bool *cancels)
{
  ws_settings_t settings = test_settings(1);
  settings.observer = note_stop;
  scene.pool = test_create(&settings);
  scene.cancels = *cancels;
  ws_group_init(&scene.group, MANY);
}

static int end(void)
{
  if (scene.ends != MANY || !ws_group_done(&scene.group) || test_value(&scene.after_wait) != 0)
    return 2;
  if (scene.highest - scene.lowest > 1024) // the body is called from two places at most
    return 3;
  ws_pool_destroy(scene.pool);
  return test_value(&scene.stopped) == 1 ? 0 : 4;
}

static int worker(void *cancels)
{
  begin(cancels);
  for (uint32_t i = 0; i < MANY; i++)
    test_push(scene.pool, end_thread, NULL, &scene.group);
  ws_group_wait(&scene.group, NULL);
  return end();
}

static void *push_and_wait(void *unused)
{
  for (uint32_t i = 0; i < MANY; i++)
    test_push(scene.pool, end_thread, unused, &scene.group);
  ws_group_wait(&scene.group, scene.pool);
  ws_add_relaxed(&scene.after_wait, 1);
  return unused;
}

static int helper(void *cancels)
{
  begin(cancels);
  test_gate_init(&scene.gate);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  if (!test_gate_await(&scene.gate, 1))
    return 5;
  test_threads_t threads = {0};
  test_spawn(&threads, push_and_wait, NULL);
  test_join(&threads);
  test_gate_let(&scene.gate, 1);
  return end();
}

static void each_way(int (*body)(void *cancels))
{
  static bool ways[] = {false, true};
  for (uint32_t i = 0; i < TEST_COUNT(ways); i++) {
    const int result = test_in_child(body, &ways[i]);
    if (result != 0)
      printf("\n    %s: result %d", ways[i] ? "cancelled" : "pthread_exit", result);
    CU_ASSERT_EQUAL(result, 0);
  }
}

static void worker_goes_on(void)
{
  each_way(worker);
}

static void wait_goes_on(void)
{
  each_way(helper);
}

TEST_MAIN("survive_many", TEST_CASE(worker_goes_on), TEST_CASE(wait_goes_on))
