// SPDX-License-Identifier: BSD-3-Clause
/// @file test_destroy.c
/// A pool that is destroyed inside one of its own tasks, also as the process exits, and one that a thread
/// holds.
#define _GNU_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "../../../include/ws_record.h"
#include "../../support/ws_death.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

/// What ends a pool frees it after this.
static ws_au32_t removed;

static void ws_process_remove_seam(struct ws_pool_s *pool)
{
  __real_ws_process_remove(pool);
  ws_add_acq_rel(&removed, 1);
}

static ws_au32_t no_threads;

static int ws_os_thread_create_seam(pthread_t *thread, void *(*func)(void *arg), void *arg)
{
  return ws_load_acquire(&no_threads) ? EAGAIN : __real_ws_os_thread_create(thread, func, arg);
}

/// A pool that knows of the end of its workers.
typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_au64_t ran; ///< tasks behind the one that destroys the pool
  ws_au32_t stopped; ///< workers
  bool waited; ///< the call that has destroyed it
} scene_t;

static void observe(void *scene_arg, const ws_observation_t *seen)
{
  scene_t *scene = scene_arg;
  if (seen->what == WS_OBSERVED_STOP)
    ws_add_acq_rel(&scene->stopped, 1);
}

/// With @p workers workers, which are in the gate.
static void begin(scene_t *scene, uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.observer = observe;
  settings.observer_arg = scene;
  ws_store_release(&removed, 0);
  CU_ASSERT_EQUAL_FATAL(ws_pool_create(&scene->pool, &settings), 0); // test_create() must know its end
  test_gate_init(&scene->gate);
}

static bool is_removed(void *unused)
{
  (void)unused;
  return ws_load_acquire(&removed) == 1;
}

static void destroy_behind_gate(void *scene_arg)
{
  scene_t *scene = scene_arg;
  test_gate_task(&scene->gate);
  ws_pool_destroy(scene->pool);
  for (uint32_t i = 0; i < 10; i++) // the pool lives until this task has ended
    test_push(scene->pool, test_count_task, &scene->ran, NULL);
}

/// The call returns, what is queued runs, and the workers end. AddressSanitizer looks whether the memory goes
/// too early, or stays.
static void in_a_task(void)
{
  for (uint32_t workers = 1; workers <= 3; workers++) {
    scene_t scene = {0};
    begin(&scene, workers);
    test_push(scene.pool, destroy_behind_gate, &scene, NULL);
    CU_ASSERT(test_gate_await(&scene.gate, 1));
    for (uint32_t i = 0; i < 10; i++)
      test_push(scene.pool, test_count_task, &scene.ran, NULL);
    test_gate_let(&scene.gate, 1);
    CU_ASSERT(test_until(is_removed, NULL));
    CU_ASSERT_EQUAL(test_value(&scene.ran), 20);
    CU_ASSERT_EQUAL(ws_load_acquire(&scene.stopped), workers);
    test_gate_destroy(&scene.gate);
  }
}

static void destroy_and_note(void *scene_arg)
{
  scene_t *scene = scene_arg;
  ws_pool_destroy(scene->pool);
  scene->waited = is_removed(NULL);
}

/// Another pool ends in the call.
static void in_a_task_of_another_pool(void)
{
  scene_t scene = {0};
  begin(&scene, 2);
  ws_pool_t *other = test_pool(1);
  test_push(other, destroy_and_note, &scene, NULL);
  ws_pool_wait(other);
  CU_ASSERT(scene.waited);
  CU_ASSERT_EQUAL(ws_load_acquire(&scene.stopped), 2);
  test_destroy(other);
  test_gate_destroy(&scene.gate);
}

static ws_pool_t *pool_of_exit;

static void destroy_at_exit(void)
{
  ws_pool_destroy(pool_of_exit);
}

static void exit_75(void *unused)
{
  (void)unused;
  exit(75);
}

enum { ON_WORKER, IN_PUSH, IN_WAIT, DURING_STOP, EXITS };

static int exit_in_task(void *how_arg)
{
  const int how = *(const int *)how_arg;
  const ws_settings_t settings = test_settings(how == IN_PUSH ? 0 : 2);
  if (ws_pool_create(&pool_of_exit, &settings) < 0 || atexit(destroy_at_exit) != 0)
    return 1;
  if (how == IN_WAIT) {
    ws_group_t group;
    test_gate_t gate;
    ws_group_init(&group, 1);
    test_gate_init(&gate);
    for (int i = 0; i < 2; i++)
      test_push(pool_of_exit, test_gate_task, &gate, NULL);
    if (!test_gate_await(&gate, 2)) // no worker takes the next task
      return 1;
    test_push(pool_of_exit, exit_75, NULL, &group);
    ws_group_wait(&group, pool_of_exit);
  }
  test_push(pool_of_exit, exit_75, NULL, NULL);
  if (how == DURING_STOP)
    ws_pool_stop(pool_of_exit, WS_STOP_DRAIN);
  for (;;)
    pause();
}

/// The status is the program's, wherever the task runs.
static void at_exit(void)
{
  for (int how = ON_WORKER; how < EXITS; how++)
    CU_ASSERT_EQUAL(test_in_child(exit_in_task, &how), 75);
}

static void destroy_it(void *pool)
{
  ws_pool_destroy(pool);
}

static bool is_stopping(void *pool)
{
  return ws_pool_push_batch(pool, NULL, 0) == -ECANCELED;
}

/// The push runs the task, and is in the pool after it.
static void in_a_push(void)
{
  scene_t scene = {0};
  begin(&scene, 0);
  CU_ASSERT_EQUAL(ws_pool_push(scene.pool, (ws_task_t){.func = destroy_it, .arg = scene.pool}), 0);
  CU_ASSERT(test_until(is_stopping, scene.pool)); // its memory stays
  CU_ASSERT_FALSE(is_removed(NULL));
  test_gate_destroy(&scene.gate);
}

/// The pool and its threads stay, and the warning says so.
static int end_without_thread(void *unused)
{
  (void)unused;
  scene_t scene = {0};
  begin(&scene, 1);
  ws_store_release(&no_threads, 1);
  test_push(scene.pool, destroy_it, scene.pool, NULL);
  ws_pool_wait(scene.pool);
  test_push(scene.pool, test_count_task, &scene.ran, NULL);
  ws_pool_wait(scene.pool);
  return test_value(&scene.ran) == 1 && test_warnings_with("The pool and its threads stay") == 1 ? 3 : 1;
}

static void without_a_thread(void)
{
  CU_ASSERT_EQUAL(test_in_child(end_without_thread, NULL), 3);
}

static void *stop_it(void *pool)
{
  ws_pool_stop(pool, WS_STOP_DRAIN);
  return NULL;
}

/// The thread that stops the pool destroys it.
static void during_a_stop(void)
{
  scene_t scene = {0};
  test_threads_t threads = {0};
  begin(&scene, 1);
  test_push(scene.pool, destroy_behind_gate, &scene, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  test_spawn(&threads, stop_it, scene.pool);
  CU_ASSERT(test_until(is_stopping, scene.pool));
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(test_value(&scene.ran), 10);
  ws_pool_destroy(scene.pool);
  CU_ASSERT(is_removed(NULL));
  test_gate_destroy(&scene.gate);
}

static void destroy_twice(void *pool)
{
  ws_pool_destroy(pool);
  ws_pool_destroy(pool);
}

static void destroy_twice_in_a_task(void)
{
  ws_pool_t *pool = test_pool(1);
  test_push(pool, destroy_twice, pool, NULL);
  for (;;)
    pause();
}

static void twice(void)
{
  CU_ASSERT(dies_with(destroy_twice_in_a_task, "ws_pool_destroy(): called a second time for the pool"));
}

static void *destroy_elsewhere(void *scene_arg)
{
  scene_t *scene = scene_arg;
  sem_post(&scene->gate.entered);
  destroy_and_note(scene);
  return NULL;
}

/// The end waits for the thread that holds the pool, also if the pool was stopped before.
static void while_it_is_held(void)
{
  for (uint32_t stopped = 0; stopped <= 1; stopped++) {
    scene_t scene = {0};
    test_threads_t threads = {0};
    begin(&scene, 2);
    if (stopped)
      ws_pool_stop(scene.pool, WS_STOP_DRAIN);
    ws_pool_hold(scene.pool);
    CU_ASSERT_EQUAL(ws_pool_push(scene.pool, (ws_task_t){.func = test_empty_task}), stopped ? -ECANCELED : 0);
    test_spawn(&threads, destroy_elsewhere, &scene);
    CU_ASSERT(test_gate_await(&scene.gate, 1));
    test_sleep_ms(1); // it could be removed by now
    CU_ASSERT_FALSE(is_removed(NULL));
    ws_pool_release(scene.pool);
    test_join(&threads);
    CU_ASSERT(is_removed(NULL));
    test_gate_destroy(&scene.gate);
  }
}

static void test_seams(void)
{
  seam.ws_process_remove = ws_process_remove_seam;
  seam.ws_os_thread_create = ws_os_thread_create_seam;
}

TEST_MAIN_SEAMS(test_seams, "destroy", TEST_CASE(in_a_task), TEST_CASE(in_a_task_of_another_pool),
                TEST_CASE(at_exit), TEST_CASE(in_a_push), TEST_CASE(without_a_thread),
                TEST_CASE(during_a_stop), TEST_CASE(twice), TEST_CASE(while_it_is_held))
