// SPDX-License-Identifier: BSD-3-Clause
/// @file test_resume.c
/// A thread that has nothing to do with a pool resumes its last fiber, and is held before it leaves the push:
/// the stop of the pool must sleep meanwhile, and that of no other. And what a fiber is queued with. Linked
/// with --wrap=ws_push_again, --wrap=ws_try_push_again and --wrap=ws_os_futex_wait.
#include "../../../core/ws_push.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

static _Thread_local bool is_held;
static ws_au32_t sleeps; ///< of a stop, in which it waits for resumes
static ws_au32_t stopped;
static ws_au32_t pushes, bad_pushes; ///< of fibers that continue, and those without the options of the fiber
static ws_au32_t priority; ///< that is right

static void count_push(const ws_task_t *task)
{
  ws_add_relaxed(&pushes, 1);
  if ((uint32_t)task->priority != ws_load_relaxed(&priority) || task->node != 0
      || task->group != ws_group_tag(&scene.group))
    ws_add_relaxed(&bad_pushes, 1);
}

static bool ws_try_push_again_seam(struct ws_pool_s *pool, const ws_task_t *task)
{
  count_push(task);
  return __real_ws_try_push_again(pool, task);
}

static void ws_push_again_seam(struct ws_pool_s *pool, const ws_task_t *task)
{
  count_push(task);
  __real_ws_push_again(pool, task);
  if (is_held)
    test_gate_task(&scene.gate);
}

static ws_aptr_t stopping; ///< a pool

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t ns)
{
  struct ws_pool_s *pool = ws_load_acquire(&stopping);
  if (pool && word == &pool->holds)
    ws_add_acq_rel(&sleeps, 1);
  return __real_ws_os_futex_wait(word, expected, ns);
}

static ws_sem_t sem;

static void wait_for_sem(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == 0);
}

static void *post_held(void *unused)
{
  (void)unused;
  is_held = true;
  ws_sem_post(&sem, 1);
  is_held = false;
  return NULL;
}

static void *stop(void *unused)
{
  note(ws_pool_stop(ws_load_acquire(&stopping), WS_STOP_DRAIN) == 0);
  ws_store_release(&stopped, 1);
  return unused;
}

static bool sleeps_or_stopped(void *unused)
{
  (void)unused;
  return ws_load_acquire(&sleeps) > 0 || ws_load_acquire(&stopped);
}

/// A thread has queued the last fiber of the scene's pool, and is still in the push.
static void begin_held(test_threads_t *threads)
{
  scene_begin(1);
  ws_sem_init(&sem, 0);
  ws_store_release(&sleeps, 0);
  ws_store_release(&stopped, 0);
  push_fiber(wait_for_sem, NULL, NULL);
  CU_ASSERT(await_parked(1));
  test_spawn(threads, post_held, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1)); // the fiber is queued, runs, and ends
}

static void test_stop_waits(void)
{
  for (uint32_t i = 0; i < 3; i++) { // a stop leaves the word as it was
    test_threads_t threads = {0};
    begin_held(&threads);
    ws_store_release(&stopping, scene.pool);
    test_spawn(&threads, stop, NULL);
    CU_ASSERT(test_until(sleeps_or_stopped, NULL));
    CU_ASSERT_FALSE(ws_load_acquire(&stopped));
    test_gate_let(&scene.gate, 1);
    test_join(&threads);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->holds), 0);
    ws_store_release(&stopping, NULL);
    scene_end();
  }
}

enum { POOLS = 64 };

/// Pools made one after the other, of which none waits for a resume in the first.
static void test_stop_of_others_does_not_wait(void)
{
  test_threads_t threads = {0};
  begin_held(&threads);
  for (uint32_t i = 0; i < POOLS; i++) {
    test_threads_t stopper = {0};
    ws_store_release(&stopped, 0);
    ws_pool_t *pool = test_pool(1);
    ws_store_release(&stopping, pool);
    test_spawn(&stopper, stop, NULL);
    const bool is_stopped = test_until(sleeps_or_stopped, NULL) && ws_load_acquire(&stopped);
    CU_ASSERT(is_stopped);
    if (!is_stopped)
      test_gate_let(&scene.gate, 1);
    test_join(&stopper);
    ws_store_release(&stopping, NULL);
    test_destroy(pool);
  }
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  scene_end();
}

static void yield_and_wait(void *unused)
{
  (void)unused;
  note(ws_yield());
  note(ws_sem_wait(&sem) == 0);
}

/// A fiber keeps its priority and its group each time that it is queued.
static void test_options_last(void)
{
  for (uint32_t value = WS_PRIORITY_NORMAL; value <= WS_PRIORITY_LOW; value++) {
    scene_begin(1);
    ws_sem_init(&sem, 0);
    ws_group_init(&scene.group, 1);
    ws_store_relaxed(&priority, value);
    ws_store_relaxed(&pushes, 0);
    ws_store_relaxed(&bad_pushes, 0);
    const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES,
                                        .priority = (ws_priority_t)value};
    CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, yield_and_wait, NULL, &scene.group, &options), 0);
    CU_ASSERT(await_parked(1));
    ws_sem_post(&sem, 1);
    ws_group_wait(&scene.group, scene.pool);
    ws_pool_wait(scene.pool);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pushes), 2); // alone in its queue: no swap
    CU_ASSERT_EQUAL(ws_load_relaxed(&bad_pushes), 0);
    scene_end();
  }
}

static void test_seams(void)
{
  seam.ws_try_push_again = ws_try_push_again_seam;
  seam.ws_push_again = ws_push_again_seam;
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
}

TEST_MAIN_SEAMS(test_seams, "resume", TEST_CASE(test_stop_waits),
                TEST_CASE(test_stop_of_others_does_not_wait), TEST_CASE(test_options_last))
