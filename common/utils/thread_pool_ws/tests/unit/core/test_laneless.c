// SPDX-License-Identifier: BSD-3-Clause
/// @file test_laneless.c
/// A wait of a thread that has no lane in the pool runs its group's tasks from the queue that such threads
/// share, and nothing else. The workers stand in a gate, or wait themselves: no other thread can run them.
/// Each case runs in a child process, whose deadline ends a wait that does not end.
#include "../../../core/ws_laneless.h"

#include <stdlib.h>

#include "../../../core/ws_run.h"
#include "../../../pool/ws_lane.h"
#include "../../support/ws_test.h"

enum { FAILED = 1 };

static ws_pool_t *pool, *other_pool;
static test_gate_t gate;
static ws_group_t group, unrelated;
static pthread_t waiter;
static ws_au64_t own_runs, strangers_in_wait, strangers;

static ws_settings_t without_lanes(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 128;
  settings.lanes = 0;
  settings.full = WS_FULL_FAIL; // a thread without a lane does not get one
  return settings;
}

static void begin(const ws_settings_t *settings)
{
  pool = test_create(settings);
  test_gate_init(&gate);
  waiter = pthread_self();
}

static void hold(void)
{
  test_push(pool, test_gate_task, &gate, NULL);
  if (!test_gate_await(&gate, 1))
    abort();
}

/// @return FAILED unless all is well. Lets the worker go.
static int end(bool good)
{
  test_gate_let(&gate, 1);
  good &= ws_pool_wait(pool) == 0 && ws_load_relaxed(&test_refused) == 0;
  test_destroy(pool);
  test_gate_destroy(&gate);
  return good ? 0 : FAILED;
}

static void own_task(void *unused)
{
  (void)unused;
  ws_add_relaxed(&own_runs, (uint64_t)(pthread_equal(pthread_self(), waiter) != 0));
}

static void strangers_task(void *unused)
{
  (void)unused;
  ws_add_relaxed(&strangers, 1);
  if (!ws_group_done(&group))
    ws_add_relaxed(&strangers_in_wait, 1);
}

static int runs_its_own_only(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  ws_group_init(&group, 20);
  ws_group_init(&unrelated, 20);
  for (uint32_t i = 0; i < 20; i++) {
    test_push(pool, strangers_task, NULL, i % 2 ? &unrelated : NULL);
    test_push(pool, own_task, NULL, &group);
    test_push(pool, strangers_task, NULL, i % 2 ? NULL : &unrelated);
  }
  ws_group_wait(&group, pool);
  const bool good = test_value(&own_runs) == 20 && test_value(&strangers) == 0;
  const int result = end(good);
  return result == 0 && test_value(&strangers) == 40 && test_value(&strangers_in_wait) == 0 ? 0 : FAILED;
}

static void wait_in_the_first(void *unused)
{
  (void)unused;
  ws_group_t last;
  ws_group_init(&last, 1);
  test_push(pool, test_empty_task, NULL, &last);
  ws_group_wait(&last, pool);
}

static void wait_in_the_other(void *unused)
{
  (void)unused;
  ws_group_t inner;
  ws_group_init(&inner, 1);
  test_push(other_pool, wait_in_the_first, NULL, &inner);
  ws_group_wait(&inner, other_pool);
}

/// A worker of each of two pools waits for a task of the other pool.
static int waits_across_pools(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  other_pool = test_create(&settings);
  ws_group_init(&group, 100);
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, wait_in_the_other, NULL, &group);
  ws_group_wait(&group, NULL);
  test_destroy(other_pool);
  return end(true);
}

static sem_t has_pushed, may_end;

static void *take_the_lane(void *unused)
{
  (void)unused;
  hold();
  sem_post(&has_pushed);
  return test_sem_wait(&may_end) ? NULL : &gate;
}

/// The thread pushes without a lane, and waits when another thread has left it one.
static int pushed_before_it_had_a_lane(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.lanes = 1;
  begin(&settings);
  sem_init(&has_pushed, 0, 0);
  sem_init(&may_end, 0, 0);
  ws_group_init(&group, 1);
  test_threads_t threads = {0};
  test_spawn(&threads, take_the_lane, NULL);
  bool good = test_sem_wait(&has_pushed);
  test_push(pool, own_task, NULL, &group);
  good &= ws_here_known(pool).queue == NULL;
  sem_post(&may_end);
  test_join(&threads);
  ws_group_wait(&group, pool);
  good &= ws_here_known(pool).queue != NULL && test_value(&own_runs) == 1;
  return end(good);
}

/// More tasks than the shared queue holds.
static void push_many(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < 10; i++)
    test_push(pool, own_task, NULL, &group);
}

/// The thread gets a lane in a task that it runs while it waits, and its tasks lie there.
static int gets_a_lane_in_its_wait(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.full = WS_FULL_GROW;
  settings.queue_capacity = 2;
  begin(&settings);
  hold();
  ws_group_init(&group, 11);
  test_push(pool, push_many, NULL, &group);
  bool good = ws_here_known(pool).queue == NULL;
  ws_group_wait(&group, pool);
  good &= ws_here_known(pool).queue != NULL && test_value(&own_runs) == 10;
  return end(good);
}

static void end_the_thread(void *unused)
{
  (void)unused;
  pthread_exit(NULL);
}

static void *wait_and_end(void *unused)
{
  waiter = pthread_self();
  test_push(pool, end_the_thread, NULL, &group);
  for (uint32_t i = 0; i < 5; i++)
    test_push(pool, own_task, NULL, &group);
  ws_group_wait(&group, pool);
  return unused; // not reached
}

/// A task ends the thread that waits: the thread runs the other tasks of the group first.
static int ends_in_its_wait(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  ws_group_init(&group, 6);
  test_threads_t threads = {0};
  test_spawn(&threads, wait_and_end, NULL);
  test_join(&threads);
  return end(ws_group_done(&group) && test_value(&own_runs) == 5);
}

static void let_the_worker_go(void *unused)
{
  (void)unused;
  test_gate_let(&gate, 1);
}

/// Only a task of the pool lets the worker go.
static int pool_wait_helps(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  test_push(pool, let_the_worker_go, NULL, NULL);
  const bool good = ws_pool_wait(pool) == 0;
  return end(good);
}

/// A wait reads each task of the shared queue once, however often it looks.
static int reads_each_task_once(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  ws_group_init(&group, 1);
  ws_group_init(&unrelated, 60);
  const ws_here_t here = {0};
  const uint64_t before = ws_load_relaxed(&pool->shared.tail); // relaxed: one thread pushes
  for (uint32_t i = 0; i < 30; i++)
    test_push(pool, test_empty_task, NULL, &unrelated);
  test_push(pool, own_task, NULL, &group);
  for (uint32_t i = 0; i < 30; i++)
    test_push(pool, test_empty_task, NULL, &unrelated);
  uint64_t seen = 0;
  ws_task_t task;
  bool good = ws_laneless_find(pool, here, &group, false, &seen, &task) && seen == before + 31;
  good &= task.func == own_task && !ws_laneless_find(pool, here, &group, false, &seen, &task);
  good &= seen == before + 61;
  ws_run_late(pool, here, &(ws_task_t){.func = own_task, .group = &group});
  good &= ws_group_done(&group);
  const int result = end(good);
  return ws_group_done(&unrelated) ? result : FAILED; // the worker passes the empty place
}

/// A task that is taken from the queue leaves room behind.
static int leaves_room(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.queue_capacity = 2;
  begin(&settings);
  hold();
  for (uint32_t i = 0; i < 100; i++) {
    ws_group_init(&group, 2);
    test_push(pool, own_task, NULL, &group);
    test_push(pool, own_task, NULL, &group);
    ws_group_wait(&group, pool);
  }
  return end(test_value(&own_runs) == 200);
}

static void in_child(int (*play)(void *))
{
  CU_ASSERT_EQUAL(test_in_child(play, NULL), 0);
}

static ws_group_t inner_group;
static ws_au32_t answer; ///< of the push from the inner task; not an error number = there was none

static void *drain_pool(void *unused)
{
  ws_pool_stop(pool, WS_STOP_DRAIN);
  return unused;
}

static bool is_draining(void *unused)
{
  (void)unused;
  return ws_load_acquire(&pool->state) != WS_RUNNING;
}

/// Runs inside a task of the first pool, on the same thread, which has no lane in either.
static void push_to_outer_pool(void *unused)
{
  (void)unused;
  if (test_until(is_draining, NULL))
    ws_store_relaxed(&answer, (uint32_t)-ws_pool_push(pool, (ws_task_t){.func = own_task}));
}

static void wait_for_inner_pool(void *unused)
{
  (void)unused;
  ws_group_init(&inner_group, 1);
  test_push(other_pool, push_to_outer_pool, NULL, &inner_group);
  ws_group_wait(&inner_group, other_pool);
}

/// A pool that stops takes what its tasks push, also from inside a task of another pool.
static int pushes_to_an_outer_pool(void *unused)
{
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  ws_pool_t *const first = pool;
  pool = other_pool = test_create(&settings);
  hold(); // the worker of the other pool
  pool = first;
  test_gate_t outer_gate;
  test_gate_init(&outer_gate);
  test_push(pool, test_gate_task, &outer_gate, NULL);
  bool good = test_gate_await(&outer_gate, 1);
  ws_store_relaxed(&answer, UINT32_MAX);
  ws_group_init(&group, 1);
  test_push(pool, wait_for_inner_pool, NULL, &group);
  test_threads_t threads = {0};
  test_spawn(&threads, drain_pool, unused);
  ws_group_wait(&group, pool);
  test_gate_let(&outer_gate, 1);
  test_join(&threads);
  good &= ws_load_relaxed(&answer) == 0 && test_value(&own_runs) <= 1;
  test_destroy(pool);
  test_gate_destroy(&outer_gate);
  pool = other_pool;
  return end(good);
}

/// Another thread has claimed a cell of the shared queue and not filled it: the waiter's task lies behind it.
static int waits_behind_a_push(void *unused)
{
  (void)unused;
  const ws_settings_t settings = without_lanes();
  begin(&settings);
  hold();
  uint64_t index = 0;
  ws_shared_cell_t *cell = ws_shared_claim(&pool->shared, &index);
  ws_group_init(&group, 1);
  test_push(pool, own_task, NULL, &group);
  ws_group_wait(&group, pool);
  const ws_task_t late = {.func = test_empty_task};
  ws_count_pushed(pool, NULL, 1);
  ws_shared_publish(cell, index, &late);
  return end(test_value(&own_runs) == 1);
}

static void let_worker(void *unused)
{
  (void)unused;
  test_gate_let(&gate, 1);
}

static void push_to_new_lane(void *unused)
{
  (void)unused;
  if (ws_pool_push(pool, (ws_task_t){.func = let_worker, .priority = WS_PRIORITY_HIGH}) != 0)
    ws_add_relaxed(&test_refused, 1);
}

/// A task that ws_pool_wait() runs gets its thread a lane, and pushes there what the worker stands for.
static int pool_wait_gets_a_lane(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.full = WS_FULL_GROW;
  begin(&settings);
  hold();
  test_push(pool, push_to_new_lane, NULL, NULL);
  ws_pool_wait(pool);
  return end(true);
}

static ws_au32_t children_in_wait, looks;

static void note_child(void *unused)
{
  (void)unused;
  if (pthread_equal(pthread_self(), waiter))
    ws_add_relaxed(&children_in_wait, 1);
}

static void push_child(void *unused)
{
  (void)unused;
  test_push(pool, note_child, NULL, NULL);
}

static bool has_looked_often(void *unused)
{
  (void)unused;
  return ws_add_relaxed(&looks, 1) > 100;
}

static void sleep_short(void *unused)
{
  (void)unused;
  test_sleep_ms(1);
}

/// A task of the event lies in the shared queue; the thread has a lane by now. What the task pushes is not the
/// wait's.
static int awaits_without_children(void *unused)
{
  (void)unused;
  ws_settings_t settings = without_lanes();
  settings.full = WS_FULL_GROW;
  settings.queue_capacity = 16;
  begin(&settings);
  hold();
  if (ws_pool_push(pool, (ws_task_t){.func = push_child, .group = ws_group_tag(&gate)}) != 0)
    return FAILED;
  for (uint32_t i = 0; i < 1000 && !ws_here_known(pool).queue; i++)
    test_push(pool, test_empty_task, NULL, NULL);
  const ws_event_t event = {has_looked_often, sleep_short, NULL};
  ws_pool_await(pool, ws_group_tag(&gate), &event);
  const bool good = ws_load_relaxed(&children_in_wait) == 0;
  return end(good);
}

static void a_wait_looks_behind_a_push(void)
{
  in_child(waits_behind_a_push);
}

static void a_wait_for_the_pool_gets_a_lane(void)
{
  in_child(pool_wait_gets_a_lane);
}

static void a_wait_for_an_event_runs_no_children(void)
{
  in_child(awaits_without_children);
}

static void a_task_may_push_to_an_outer_pool(void)
{
  in_child(pushes_to_an_outer_pool);
}

static void a_wait_runs_its_own_tasks_only(void)
{
  in_child(runs_its_own_only);
}

static void waits_across_pools_end(void)
{
  in_child(waits_across_pools);
}

static void a_wait_finds_what_was_pushed_without_a_lane(void)
{
  in_child(pushed_before_it_had_a_lane);
}

static void a_wait_goes_on_with_a_lane(void)
{
  in_child(gets_a_lane_in_its_wait);
}

static void a_wait_outlives_the_end_of_its_thread(void)
{
  in_child(ends_in_its_wait);
}

static void a_wait_for_the_pool_helps(void)
{
  in_child(pool_wait_helps);
}

static void each_task_is_read_once(void)
{
  in_child(reads_each_task_once);
}

static void tasks_leave_room(void)
{
  in_child(leaves_room);
}

TEST_MAIN("laneless", TEST_CASE(a_wait_runs_its_own_tasks_only), TEST_CASE(waits_across_pools_end),
          TEST_CASE(a_wait_finds_what_was_pushed_without_a_lane), TEST_CASE(a_wait_goes_on_with_a_lane),
          TEST_CASE(a_wait_outlives_the_end_of_its_thread), TEST_CASE(a_wait_for_the_pool_helps),
          TEST_CASE(each_task_is_read_once), TEST_CASE(tasks_leave_room),
          TEST_CASE(a_task_may_push_to_an_outer_pool), TEST_CASE(a_wait_looks_behind_a_push),
          TEST_CASE(a_wait_for_the_pool_gets_a_lane), TEST_CASE(a_wait_for_an_event_runs_no_children))
