// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_stop.c
/// A pool stops while fibers are queued, run, or are parked.
#include "fiber_scene.h"

static void write_x(void *unused)
{
  (void)unused;
  write_letter('x');
}

static void begin_and_yield(void *unused)
{
  (void)unused;
  write_letter('b');
  while (ws_load_relaxed(&scene.value) == 0)
    ws_yield();
  write_letter('e');
}

static void *abort_pool(void *skipped)
{
  *(int64_t *)skipped = ws_pool_stop(scene.pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.pool->state) != WS_RUNNING; // all that an abort sets is set
}

static bool has_begun(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&scene.letters) == 1;
}

/// One fiber has begun and yields; others wait behind a task that holds the other worker, and are dropped.
static void test_abort(void)
{
  ws_fiber_stats_t before, after;
  ws_fiber_stats(&before);
  scene_begin(1);
  push_fiber(begin_and_yield, NULL, NULL);
  CU_ASSERT(test_until(has_begun, NULL));
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1)); // the worker stands; the fiber is queued
  ws_group_init(&scene.group, 5);
  for (uint32_t i = 0; i < 5; i++)
    push_fiber(write_x, NULL, &scene.group);
  int64_t skipped = -1;
  test_threads_t threads = {0};
  test_spawn(&threads, abort_pool, &skipped);
  CU_ASSERT(test_until(is_aborted, NULL));
  ws_store_relaxed(&scene.value, 1);
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(skipped, 5);
  CU_ASSERT(ws_group_done(&scene.group));
  CU_ASSERT_STRING_EQUAL(scene.letter, "be");
  ws_fiber_stats(&after);
  CU_ASSERT_EQUAL(after.dropped - before.dropped, 5);
  scene_end();
}

static ws_sem_t sem;
static ws_mutex_t mutex;

static void wait_for_sem(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == 0);
  ws_add_relaxed(&scene.value, 1);
}

static void post_later(void *unused)
{
  (void)unused;
  while (ws_load_acquire(&scene.pool->state) == WS_RUNNING)
    ws_yield();
  ws_sem_post(&sem, 5);
}

/// Fibers are parked when the drain begins; another fiber wakes them while the pool refuses pushes.
static void test_drain_parked(void)
{
  scene_begin(2);
  ws_sem_init(&sem, 0);
  for (uint32_t i = 0; i < 5; i++)
    push_fiber(wait_for_sem, NULL, NULL);
  CU_ASSERT(await_parked(5));
  push_fiber(post_later, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 5);
  scene_end();
}

static bool is_stopping(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.pool->state) != WS_RUNNING;
}

static void *post_from_outside(void *unused)
{
  test_until(is_stopping, unused);
  ws_sem_post(&sem, 5);
  return NULL;
}

/// The same by a thread that has nothing to do with the pool, and ends its last fiber's wait as the pool
/// goes.
static void test_drain_from_outside(void)
{
  for (uint32_t i = 0; i < 20; i++) {
    scene_begin(2);
    ws_sem_init(&sem, 0);
    for (uint32_t j = 0; j < 5; j++)
      push_fiber(wait_for_sem, NULL, NULL);
    CU_ASSERT(await_parked(5));
    test_threads_t threads = {0};
    test_spawn(&threads, post_from_outside, NULL);
    CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_DRAIN), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 5);
    scene_end(); // the thread may still be in its call
    test_join(&threads);
  }
}

static void wait_until_aborted(void *unused)
{
  (void)unused;
  ws_group_t never;
  ws_group_init(&never, 0);
  note(ws_sem_wait(&sem) == -ECANCELED);
  note(ws_sem_wait(&sem) == -ECANCELED); // later waits, too
  note(ws_sleep_ns(UINT64_MAX) == -ECANCELED);
  ws_mutex_lock(&mutex); // not ended by the abort
  ws_yield();
  ws_mutex_unlock(&mutex);
  ws_group_wait(&never, scene.pool);
  ws_add_relaxed(&scene.value, 1);
}

static void hold_mutex(void *unused)
{
  (void)unused;
  ws_mutex_lock(&mutex);
  note(ws_sem_wait(&sem) == -ECANCELED);
  ws_mutex_unlock(&mutex);
  ws_add_relaxed(&scene.value, 1);
}

static void wait_for_lock(void *unused)
{
  (void)unused;
  ws_mutex_lock(&mutex);
  ws_mutex_unlock(&mutex);
  ws_add_relaxed(&scene.value, 1);
}

/// Parked fibers are cancelled. One that waits for a mutex gets it when its owner, which is cancelled,
/// unlocks it.
static void test_abort_parked(void)
{
  scene_begin(2);
  ws_sem_init(&sem, 0);
  push_fiber(hold_mutex, NULL, NULL);
  CU_ASSERT(await_parked(1));
  push_fiber(wait_for_lock, NULL, NULL);
  for (uint32_t i = 0; i < 5; i++)
    push_fiber(wait_until_aborted, NULL, NULL);
  CU_ASSERT(await_parked(7));
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_ABORT), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 7);
  CU_ASSERT_EQUAL(parked(), 0);
  scene_end();
}

static void wait_for_group(void *group)
{
  ws_group_wait(group, scene.pool);
  ws_add_relaxed(&scene.value, 1);
}

/// Groups that a thread outside completes by hand.
static void test_group_by_hand(void)
{
  scene_begin(1);
  ws_group_init(&scene.group, 2);
  for (uint32_t i = 0; i < 5; i++)
    push_fiber(wait_for_group, &scene.group, NULL);
  CU_ASSERT(await_parked(5));
  ws_group_complete(&scene.group, 1);
  CU_ASSERT_EQUAL(parked(), 5);
  ws_group_complete(&scene.group, 1);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 5);
  scene_end();
}

static bool is_ready(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.value) > 0;
}

static void sleep_for_event(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == 0);
}

static void await_event(void *unused)
{
  (void)unused;
  const ws_event_t event = {.ready = is_ready, .sleep = sleep_for_event};
  ws_pool_await(scene.pool, NULL, &event);
  write_letter('r');
}

/// An event whose sleep() parks the fiber.
static void test_event(void)
{
  scene_begin(1);
  ws_sem_init(&sem, 0);
  push_fiber(await_event, NULL, NULL);
  CU_ASSERT(await_parked(1));
  ws_sem_post(&sem, 1); // not ready: it sleeps again
  CU_ASSERT(await_parked(1));
  ws_store_release(&scene.value, 1);
  ws_sem_post(&sem, 1);
  ws_pool_wait(scene.pool);
  CU_ASSERT_STRING_EQUAL(scene.letter, "r");
  scene_end();
}

static void destroy_it(void *unused)
{
  (void)unused;
  ws_pool_destroy(scene.pool);
  ws_sleep_ns(1000);
  write_letter('d');
}

static bool is_stopped(void *ended_arg)
{
  return ws_load_acquire((ws_au32_t *)ended_arg) == 1;
}

static void note_end(void *ended_arg, const ws_observation_t *seen)
{
  if (seen->what == WS_OBSERVED_STOP)
    ws_add_acq_rel((ws_au32_t *)ended_arg, 1);
}

/// The pool ends when the fiber has, and the fiber may wait after it.
static void test_destroy_inside(void)
{
  static ws_au32_t ended;
  ws_settings_t settings = test_settings(1);
  settings.observer = note_end;
  settings.observer_arg = &ended;
  ws_store_release(&scene.value, 1);
  ws_store_release(&scene.letters, 0);
  CU_ASSERT_EQUAL_FATAL(ws_pool_create(&scene.pool, &settings), 0);
  push_fiber(destroy_it, NULL, NULL);
  CU_ASSERT(test_until(is_stopped, &ended));
  CU_ASSERT_EQUAL(ws_load_acquire(&scene.letters), 1);
}

TEST_MAIN("fiber_stop", TEST_CASE(test_destroy_inside), TEST_CASE(test_abort), TEST_CASE(test_drain_parked),
          TEST_CASE(test_drain_from_outside), TEST_CASE(test_abort_parked), TEST_CASE(test_group_by_hand),
          TEST_CASE(test_event))
