// SPDX-License-Identifier: BSD-3-Clause
/// @file test_join.c
/// A joining thread runs its group's tasks and what those push, and nothing else; and it never waits for a
/// task that only itself could run. Each case that could hang runs in a child process. Linked with
/// --wrap=ws_os_now_ns: a thread can have a clock that stands, so that its join spins until there is
/// something to do.
#include "../../../pool/ws_process.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#include <sched.h>

static _Thread_local uint64_t stands_at_ns; ///< 0 = the clock of this thread goes
static ws_au32_t looks; ///< at clocks that stand

static uint64_t ws_os_now_ns_seam(void)
{
  if (!stands_at_ns)
    return __real_ws_os_now_ns();
  ws_add_relaxed(&looks, 1);
  return stands_at_ns;
}

/// In a child process: its deadline ends a wait for what never comes.
static void spin_until(ws_au32_t *word, uint32_t value)
{
  while (ws_load_acquire(word) != value)
    sched_yield();
}

typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_group_t own, other;
  pthread_t joiner;
  ws_au32_t unrelated_in_join, own_runs, in_join;
} scene_t;

static scene_t scene;

static void own_task(void *unused)
{
  (void)unused;
  ws_add_relaxed(&scene.own_runs, 1);
}

/// Must not run on the joiner's thread while that joins.
static void unrelated_task(void *unused)
{
  (void)unused;
  if (pthread_equal(pthread_self(), scene.joiner) && ws_load_relaxed(&scene.in_join))
    ws_add_relaxed(&scene.unrelated_in_join, 1);
}

static void push_both_and_join(void *unused)
{
  (void)unused;
  scene.joiner = pthread_self();
  ws_group_init(&scene.own, 40);
  for (uint32_t i = 0; i < 40; i++) {
    test_push(scene.pool, unrelated_task, NULL, &scene.other);
    test_push(scene.pool, own_task, NULL, &scene.own);
    test_push(scene.pool, unrelated_task, NULL, &scene.other);
  }
  ws_store_relaxed(&scene.in_join, 1);
  ws_group_wait(&scene.own, scene.pool);
  ws_store_relaxed(&scene.in_join, 0);
}

static void worker_runs_no_unrelated_task_in_a_join(void)
{
  for (uint32_t workers = 1; workers <= 2; workers++) {
    scene = (scene_t){.pool = test_pool(workers)};
    ws_group_t all;
    ws_group_init(&scene.other, 80);
    ws_group_init(&all, 1);
    test_push(scene.pool, push_both_and_join, NULL, &all);
    ws_group_wait(&all, NULL);
    ws_group_wait(&scene.other, NULL);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.own_runs), 40);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_in_join), 0);
    test_destroy(scene.pool);
  }
}

static void join_from_outside(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  test_gate_init(&scene.gate);
  ws_group_init(&scene.other, 80);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1)); // the only worker is held
  test_gate_let(&scene.gate, 1);
  push_both_and_join(NULL);
  ws_group_wait(&scene.other, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.own_runs), 40);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_in_join), 0);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

static void outsider_runs_no_unrelated_task_in_a_join(void)
{
  for (uint32_t round = 0; round < 50; round++)
    join_from_outside();
}

/// Leaves a task without a group in the worker's queue, of whose ancestor's group only the address lives on.
static void leave_orphans(void *unused)
{
  (void)unused;
  test_push(scene.pool, unrelated_task, NULL, NULL);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL); // newest: the worker runs it first
}

/// With one CPU a thread that joins sleeps at once.
static bool has_looked_long(void *group)
{
  return ws_load_relaxed(&looks) >= 1000 || test_has_sleepers(group);
}

static void *complete_later(void *group)
{
  test_until(has_looked_long, group);
  ws_group_complete(group, 1);
  return NULL;
}

/// A new group at the address of an old one: tasks that the old one's tasks have left behind are unrelated.
static void reused_address_is_another_group(void)
{
  scene = (scene_t){.pool = test_pool(1), .joiner = pthread_self()};
  test_gate_init(&scene.gate);
  ws_group_init(&scene.own, 1);
  test_push(scene.pool, leave_orphans, NULL, &scene.own);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1));
  ws_group_wait(&scene.own, NULL);
  ws_group_init(&scene.own, 1); // the same address, another group
  test_threads_t threads = {0};
  ws_store_relaxed(&looks, 0);
  test_spawn(&threads, complete_later, &scene.own);
  ws_store_relaxed(&scene.in_join, 1);
  stands_at_ns = __real_ws_os_now_ns(); // this thread spins until the group is done
  ws_group_wait(&scene.own, scene.pool);
  stands_at_ns = 0;
  ws_store_relaxed(&scene.in_join, 0);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_in_join), 0);
  test_gate_let(&scene.gate, 1);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

/// The stage for the next cases: worker 0 runs outer_task and joins its child, which main has taken in its
/// own join.
static struct {
  ws_pool_t *pool;
  ws_group_t outer, middle, side[3];
  ws_au32_t main_joins, child_runs;
  bool add_late; ///< the child leaves a task of the middle group behind
} act;

static void child_task(void *unused)
{
  (void)unused;
  ws_store_release(&act.child_runs, 1);
  spin_until(&act.pool->blocked, 1); // the worker sleeps in its join by now
  if (act.add_late) {
    ws_group_add(&act.middle, 1);
    test_push(act.pool, test_empty_task, NULL, &act.middle);
    return;
  }
  for (uint32_t i = 0; i < 3; i++)
    ws_group_init(&act.side[i], 1);
  for (uint32_t i = 0; i < 3; i++)
    test_push(act.pool, test_empty_task, NULL, &act.side[i]);
  ws_group_wait(&act.side[1], act.pool); // neither its newest nor its oldest
  ws_group_wait(&act.side[0], act.pool);
  ws_group_wait(&act.side[2], act.pool);
}

static void outer_task(void *unused)
{
  (void)unused;
  spin_until(&act.main_joins, 1);
  spin_until(&act.pool->helpers, 1);
  ws_group_init(&act.middle, 1);
  test_push(act.pool, child_task, NULL, &act.middle);
  spin_until(&act.child_runs, 1);
  ws_group_wait(&act.middle, act.pool);
}

static int play(void *add_late)
{
  act.pool = test_pool(1);
  if (act.pool->cpus < 2)
    return TEST_CHILD_SKIP; // there a thread that joins sleeps at once, and does not help
  act.add_late = add_late != NULL;
  stands_at_ns = __real_ws_os_now_ns(); // this thread must not sleep before it has the child
  ws_group_init(&act.outer, 1);
  test_push(act.pool, outer_task, NULL, &act.outer);
  while (test_stats(act.pool).queued_tasks > 0)
    sched_yield();
  ws_store_release(&act.main_joins, 1);
  ws_group_wait(&act.outer, act.pool);
  ws_pool_wait(act.pool);
  ws_pool_destroy(act.pool);
  return 0;
}

/// A helping thread runs a task that leaves a task behind, for which the only worker waits asleep.
static void helper_leaves_nothing_behind(void)
{
  const int code = test_in_child(play, &act);
  CU_ASSERT_TRUE(code == 0 || code == TEST_CHILD_SKIP);
}

/// A helping thread joins the middle one of three groups that it pushed, and the only worker waits for it.
static void helper_reaches_a_buried_task(void)
{
  const int code = test_in_child(play, NULL);
  CU_ASSERT_TRUE(code == 0 || code == TEST_CHILD_SKIP);
}

/// A thread outside runs a task inline that joins: it must not count as a helper that it never was.
static ws_au32_t helpers_seen;

static bool has_sleeper(void *group)
{
  return test_has_sleepers(group);
}

static void note_helpers(void *group)
{
  test_until(has_sleeper, group);
  ws_store_release(&helpers_seen, ws_load_relaxed(&scene.pool->helpers));
}

static void join_inside_inline(void *group)
{
  ws_group_wait(group, NULL);
  ws_group_wait(group, scene.pool);
}

static void join_in_task_run_inline(void *group)
{
  ws_group_wait(group, scene.pool);
}

static void inline_join_keeps_the_count_of_helpers(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 2;
  settings.full = WS_FULL_INLINE;
  scene = (scene_t){.pool = test_create(&settings)};
  test_gate_init(&scene.gate);
  ws_group_t noting;
  ws_group_init(&noting, 1);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1));
  test_push(scene.pool, note_helpers, &noting, &noting);
  test_push(scene.pool, test_empty_task, NULL, NULL);
  test_gate_let(&scene.gate, 1); // the worker goes on to note_helpers
  while (test_stats(scene.pool).queued_tasks > 1)
    sched_yield();
  test_push(scene.pool, test_empty_task, NULL, NULL);
  test_push(scene.pool, join_in_task_run_inline, &noting, NULL); // full: runs here
  CU_ASSERT_TRUE(ws_load_acquire(&helpers_seen) <= 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->helpers), 0);
  join_inside_inline(&noting);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

static void test_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
}

TEST_MAIN_SEAMS(test_seams, "join", TEST_CASE(helper_leaves_nothing_behind),
                TEST_CASE(helper_reaches_a_buried_task), TEST_CASE(worker_runs_no_unrelated_task_in_a_join),
                TEST_CASE(outsider_runs_no_unrelated_task_in_a_join),
                TEST_CASE(reused_address_is_another_group), TEST_CASE(inline_join_keeps_the_count_of_helpers))
