// SPDX-License-Identifier: BSD-3-Clause
/// @file test_await.c
/// Tags, waiting for what is no group, and places handed over by threads that block.
#include "../../../pool/ws_process.h"
#include "../../support/ws_test.h"

#include <string.h>

#define TASKS 40u

typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_group_t group, other;
  pthread_t waiter;
  sem_t happened;
  ws_au32_t runs, on_waiter, unrelated_on_waiter, ready, blocked_seen, sleeps;
} scene_t;

static scene_t scene;

/// One worker, which is held: only the waiting thread can run tasks.
static void begin_held(void)
{
  scene = (scene_t){.pool = test_pool(1), .waiter = pthread_self()};
  sem_init(&scene.happened, 0, 0);
  test_gate_init(&scene.gate);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
}

static void end_held(void)
{
  test_gate_let(&scene.gate, 1);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
  sem_destroy(&scene.happened);
}

static void completes_by_hand(void *unused)
{
  (void)unused;
  ws_add_relaxed(&scene.runs, 1);
  if (pthread_equal(pthread_self(), scene.waiter))
    ws_add_relaxed(&scene.on_waiter, 1);
  ws_group_complete(&scene.group, 1);
}

static void unrelated(void *unused)
{
  (void)unused;
  if (pthread_equal(pthread_self(), scene.waiter))
    ws_add_relaxed(&scene.unrelated_on_waiter, 1);
}

static void join_helps_with_tagged_tasks(void)
{
  begin_held();
  ws_group_init(&scene.group, TASKS);
  for (uint32_t i = 0; i < TASKS; i++) {
    test_push(scene.pool, unrelated, NULL, NULL);
    test_push(scene.pool, completes_by_hand, NULL, ws_group_tag(&scene.group));
  }
  ws_group_wait(&scene.group, scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.on_waiter), TASKS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_on_waiter), 0);
  end_held();
}

static bool has_sleeper_or_is_done(void *group)
{
  return test_has_sleepers(group) || ws_group_done(group);
}

/// The tasks are left to the worker. It is let go when the waiting thread has found nothing and sleeps.
static void *lets_the_worker_go(void *unused)
{
  test_until(has_sleeper_or_is_done, &scene.group);
  test_gate_let(&scene.gate, 1);
  return unused;
}

static void join_from_outside_leaves_weak_tags_alone(void)
{
  begin_held();
  ws_group_init(&scene.group, TASKS);
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(scene.pool, completes_by_hand, NULL, ws_group_weak_tag(&scene.group));
  test_threads_t threads = {0};
  test_spawn(&threads, lets_the_worker_go, NULL);
  ws_group_wait(&scene.group, scene.pool);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.runs), TASKS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.on_waiter), 0);
  end_held();
}

static void pushes_weak_and_joins(void *unused)
{
  (void)unused;
  scene.waiter = pthread_self();
  ws_group_init(&scene.group, TASKS);
  for (uint32_t i = 0; i < TASKS; i++) {
    test_push(scene.pool, completes_by_hand, NULL, ws_group_weak_tag(&scene.group));
    test_push(scene.pool, unrelated, NULL, NULL);
  }
  ws_group_wait(&scene.group, scene.pool);
}

/// The only worker: no other thread could run them.
static void worker_helps_with_weak_tags(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  ws_group_t all;
  ws_group_init(&all, 1);
  test_push(scene.pool, pushes_weak_and_joins, NULL, &all);
  ws_group_wait(&all, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.on_waiter), TASKS);
  test_destroy(scene.pool);
}

/// A thread outside runs a task of its group, and that task joins. The only worker is busy until then.
static void thread_outside_in_a_task_helps_with_weak_tags(void)
{
  begin_held();
  ws_group_t all;
  ws_group_init(&all, 1);
  test_push(scene.pool, pushes_weak_and_joins, NULL, &all);
  ws_group_wait(&all, scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.on_waiter), TASKS);
  test_gate_let(&scene.gate, 1);
  end_held();
}

static void notes_its_task(void *seen)
{
  *(void **)seen = ws_current_task()->arg;
}

static void current_task(void)
{
  for (uint32_t workers = 0; workers < 2; workers++) { // inline, and on a worker
    scene = (scene_t){.pool = test_pool(workers)};
    void *seen = NULL;
    ws_group_init(&scene.group, 1);
    test_push(scene.pool, notes_its_task, &seen, &scene.group);
    ws_group_wait(&scene.group, NULL);
    CU_ASSERT_PTR_EQUAL(seen, &seen);
    CU_ASSERT_PTR_NULL(ws_current_task());
    test_destroy(scene.pool);
  }
}

static void pool_completes_nothing_for_a_tag(void)
{
  scene = (scene_t){.pool = test_pool(2)};
  ws_group_init(&scene.group, 1);
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(scene.pool, test_empty_task, NULL, ws_group_tag(&scene.group));
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  CU_ASSERT_FALSE(ws_group_done(&scene.group));
  CU_ASSERT_EQUAL(test_sum(scene.pool, offsetof(ws_worker_stats_t, run_tasks)), TASKS);
  test_destroy(scene.pool);
}

/// A tag may name what is gone: the group dies before the function that completed it returns.
static void group_may_die_before_its_task_returns(void)
{
  scene = (scene_t){.pool = test_pool(2)};
  for (uint32_t round = 0; round < 2000; round++) {
    memset(&scene.group, 0xff, sizeof(scene.group));
    ws_group_init(&scene.group, 4);
    for (uint32_t i = 0; i < 4; i++)
      test_push(scene.pool, completes_by_hand, NULL, ws_group_tag(&scene.group));
    ws_group_wait(&scene.group, scene.pool);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.runs), 8000);
  test_destroy(scene.pool);
}

static bool is_ready(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.ready) != 0;
}

static void sleep_until_it_happens(void *unused)
{
  (void)unused;
  ws_store_relaxed(&scene.blocked_seen, ws_load_relaxed(&scene.pool->blocked));
  ws_store_release(&scene.sleeps, 1);
  test_sem_wait(&scene.happened);
}

static bool is_asleep(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.sleeps) != 0;
}

static const ws_event_t event = {.ready = is_ready, .sleep = sleep_until_it_happens};

static void makes_ready(void *unused)
{
  (void)unused;
  if (pthread_equal(pthread_self(), scene.waiter))
    ws_add_relaxed(&scene.on_waiter, 1);
  ws_store_release(&scene.ready, 1);
  sem_post(&scene.happened);
}

static void await_helps_with_its_tag_only(void)
{
  begin_held();
  test_push(scene.pool, unrelated, NULL, NULL);
  test_push(scene.pool, makes_ready, NULL, ws_group_tag(&scene.ready));
  test_push(scene.pool, unrelated, NULL, ws_group_tag(&scene.happened));
  ws_pool_await(scene.pool, ws_group_tag(&scene.ready), &event);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.on_waiter), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_on_waiter), 0);
  end_held();
}

/// The task that makes it ready carries no tag: a thread outside must sleep, and be woken by it.
static void await_sleeps(void)
{
  for (uint32_t without = 0; without < 2; without++) {
    begin_held();
    test_push(scene.pool, makes_ready, NULL, NULL);
    test_gate_let(&scene.gate, 1);
    ws_pool_await(without ? NULL : scene.pool, ws_group_tag(&scene.ready), &event);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.on_waiter), 0);
    end_held();
  }
}

/// More threads than lanes: one without a lane sleeps, and looks again when it is woken too early.
static bool third_time(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&scene.blocked_seen) >= 3;
}

static void sleeps_not_at_all(void *unused)
{
  (void)unused;
  ws_add_relaxed(&scene.blocked_seen, 1);
}

static void await_without_a_lane(void)
{
  ws_settings_t settings = test_settings(1);
  settings.lanes = 0;
  scene = (scene_t){.pool = test_create(&settings)};
  ws_pool_await(scene.pool, ws_group_tag(&scene.ready),
                &(ws_event_t){.ready = third_time, .sleep = sleeps_not_at_all});
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.blocked_seen), 3);
  test_destroy(scene.pool);
}

/// Pushes what comes after it, and is not yet done itself.
static void pushes_a_successor(void *unused)
{
  (void)unused;
  sem_post(&scene.gate.entered);
  test_push(scene.pool, unrelated, NULL, NULL);
  test_until(is_asleep, NULL); // the waiting thread has looked
  makes_ready(NULL);
}

static void await_does_not_run_what_its_tasks_push(void)
{
  scene = (scene_t){.pool = test_pool(1), .waiter = pthread_self()};
  sem_init(&scene.happened, 0, 0);
  test_gate_init(&scene.gate);
  test_push(scene.pool, pushes_a_successor, NULL, ws_group_tag(&scene.ready));
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1)); // the worker has taken it
  ws_pool_await(scene.pool, ws_group_tag(&scene.ready), &event);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_on_waiter), 0);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
  sem_destroy(&scene.happened);
}

/// A thread outside that runs a task while it joins has a place too, and hands it over.
static void blocks_and_looks(void *unused)
{
  (void)unused;
  ws_blocking_begin();
  ws_store_relaxed(&scene.blocked_seen, ws_load_relaxed(&scene.pool->helpers) + 1);
  ws_blocking_end();
  ws_store_relaxed(&scene.ready, ws_load_relaxed(&scene.pool->helpers));
}

static void helper_that_blocks_hands_its_place_over(void)
{
  begin_held();
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, blocks_and_looks, NULL, &scene.group);
  ws_group_wait(&scene.group, scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.blocked_seen), 1); // no helper is counted meanwhile
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.ready), 1); // and again after
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->helpers), 0);
  end_held();
}

static void awaits(void *unused)
{
  (void)unused;
  ws_pool_await(scene.pool, ws_group_tag(&scene.ready), &event);
}

/// One CPU, so one place: the worker that awaits must hand it to the one that makes the event ready.
static void worker_that_awaits_hands_its_place_over(void)
{
  test_use_cpus(1);
  scene = (scene_t){.pool = test_pool(2)};
  sem_init(&scene.happened, 0, 0);
  ws_group_init(&scene.group, 2);
  test_push(scene.pool, awaits, NULL, &scene.group);
  test_push(scene.pool, makes_ready, NULL, &scene.group);
  ws_group_wait(&scene.group, NULL);
  CU_ASSERT_TRUE(ws_load_relaxed(&scene.blocked_seen) <= 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->blocked), 0);
  test_destroy(scene.pool);
  test_use_cpus(0);
}

static void blocks(void *unused)
{
  (void)unused;
  ws_blocking_begin();
  ws_store_relaxed(&scene.blocked_seen, ws_load_relaxed(&scene.pool->blocked));
  if (pthread_equal(pthread_self(), scene.waiter))
    ws_add_relaxed(&scene.on_waiter, 1);
  test_sem_wait(&scene.happened);
  ws_blocking_end();
}

static void blocking_section_is_counted(void)
{
  scene = (scene_t){.pool = test_pool(2)};
  sem_init(&scene.happened, 0, 0);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, blocks, NULL, &scene.group);
  sem_post(&scene.happened);
  ws_group_wait(&scene.group, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.blocked_seen), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->blocked), 0);
  ws_blocking_begin(); // a thread that is no worker: nothing happens
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->blocked), 0);
  ws_blocking_end();
  test_destroy(scene.pool);
}

/// A worker of one pool that waits for another pool's group has no place to keep there.
static void joins_in_the_other_pool(void *other)
{
  scene.waiter = pthread_self();
  test_push(other, blocks, NULL, &scene.other);
  ws_group_wait(&scene.other, other);
}

static bool waiter_sleeps_or_blocks(void *unused)
{
  (void)unused;
  return test_has_sleepers(&scene.other) || ws_load_relaxed(&scene.on_waiter) > 0;
}

static void worker_may_wait_in_another_pool(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  ws_pool_t *first = test_pool(1);
  sem_init(&scene.happened, 0, 0);
  ws_group_init(&scene.group, 1);
  ws_group_init(&scene.other, 1);
  test_push(first, joins_in_the_other_pool, scene.pool, &scene.group);
  CU_ASSERT_TRUE(test_until(waiter_sleeps_or_blocks, NULL));
  sem_post(&scene.happened);
  ws_group_wait(&scene.group, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&first->blocked), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->blocked), 0);
  test_destroy(first);
  test_destroy(scene.pool);
}

static void notes_index(void *index)
{
  *(int32_t *)index = ws_worker_index();
}

static void worker_index(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  int32_t seen = -2;
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, notes_index, &seen, &scene.group);
  ws_group_wait(&scene.group, NULL);
  CU_ASSERT_EQUAL(seen, 0);
  CU_ASSERT_EQUAL(ws_worker_index(), -1);
  test_destroy(scene.pool);
}

TEST_MAIN("await", TEST_CASE(join_helps_with_tagged_tasks), TEST_CASE(pool_completes_nothing_for_a_tag),
          TEST_CASE(join_from_outside_leaves_weak_tags_alone), TEST_CASE(worker_helps_with_weak_tags),
          TEST_CASE(thread_outside_in_a_task_helps_with_weak_tags), TEST_CASE(current_task),
          TEST_CASE(group_may_die_before_its_task_returns), TEST_CASE(await_helps_with_its_tag_only),
          TEST_CASE(await_sleeps), TEST_CASE(await_without_a_lane),
          TEST_CASE(await_does_not_run_what_its_tasks_push),
          TEST_CASE(helper_that_blocks_hands_its_place_over),
          TEST_CASE(worker_that_awaits_hands_its_place_over), TEST_CASE(blocking_section_is_counted),
          TEST_CASE(worker_may_wait_in_another_pool), TEST_CASE(worker_index))
