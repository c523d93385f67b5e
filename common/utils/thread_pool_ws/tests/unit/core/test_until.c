// SPDX-License-Identifier: BSD-3-Clause
/// @file test_until.c
/// Waits with a deadline. Linked with --wrap=ws_os_now_ns and --wrap=ws_os_futex_wait_until: a thread may
/// have a clock of its own. It goes on by 1 ns a look, and to the deadline in each sleep with one.
#include <errno.h>

#include "../../../pool/ws_lane.h"
#include "../../../pool/ws_process.h"
#include "../../../tasks/ws_group_word.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define START_NS 1000000u
#define SOON_NS (START_NS + 5000)
#define TASKS 5u

static _Thread_local uint64_t clock_ns; ///< 0 = the clock of the machine
static _Thread_local uint64_t slept_until_ns;
static void (*in_sleep)(void); ///< what happens just after the deadline of a sleep

static uint64_t ws_os_now_ns_seam(void)
{
  return clock_ns ? clock_ns++ : __real_ws_os_now_ns();
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  if (!clock_ns || deadline_ns == 0)
    return __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  slept_until_ns = clock_ns = deadline_ns;
  if (in_sleep)
    in_sleep();
  return -ETIMEDOUT;
}

typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_group_t group, all;
  ws_au32_t runs, unrelated;
  int result[4];
  uint32_t runs_then;
} scene_t;

static scene_t scene;

/// One worker, which is held: only the waiting thread can run tasks.
static void begin_held(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  test_gate_init(&scene.gate);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  clock_ns = START_NS;
}

static void end_held(void)
{
  clock_ns = 0;
  test_gate_let(&scene.gate, 1);
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

/// The second of them takes until after the deadline.
static void takes_long(void *unused)
{
  (void)unused;
  if (ws_add_relaxed(&scene.runs, 1) == 1)
    clock_ns = SOON_NS;
}

static void unrelated(void *unused)
{
  (void)unused;
  ws_add_relaxed(&scene.unrelated, 1);
}

static uint32_t runs(void)
{
  return ws_load_relaxed(&scene.runs);
}

static void push_all(void)
{
  ws_group_init(&scene.group, TASKS);
  for (uint32_t i = 0; i < TASKS; i++) {
    test_push(scene.pool, takes_long, NULL, &scene.group);
    test_push(scene.pool, unrelated, NULL, NULL);
  }
}

static void past_deadline_runs_nothing(void)
{
  begin_held();
  push_all();
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, 0), -ETIMEDOUT);
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, START_NS), -ETIMEDOUT);
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, NULL, 1), -ETIMEDOUT);
  CU_ASSERT_EQUAL(runs(), 0);
  ws_group_wait(&scene.group, scene.pool);
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, 0), 0);
  CU_ASSERT_EQUAL(runs(), TASKS);
  end_held();
}

static void no_task_begins_after_the_deadline(void)
{
  begin_held();
  push_all();
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, SOON_NS), -ETIMEDOUT);
  CU_ASSERT_EQUAL(runs(), 2);
  CU_ASSERT_EQUAL(ws_group_units(&scene.group), TASKS - 2); // those that ran are completed
  const ws_here_t here = ws_here_known(scene.pool);
  CU_ASSERT_PTR_NULL_FATAL(here.queue->mark);
  clock_ns = START_NS;
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, SOON_NS), 0);
  CU_ASSERT_EQUAL(runs(), TASKS);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated), 0);
  end_held();
}

static void no_deadline(void)
{
  begin_held();
  push_all();
  clock_ns = UINT64_MAX - 100000;
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, UINT64_MAX), 0);
  CU_ASSERT_EQUAL(runs(), TASKS);
  end_held();
}

/// With a lane, without help in a pool, and in a pool without workers.
static void sleeps_until_the_deadline(void)
{
  begin_held();
  ws_pool_t *none = test_pool(0), *pools[] = {scene.pool, NULL, none};
  ws_group_init(&scene.group, 1);
  for (uint32_t i = 0; i < TEST_COUNT(pools); i++) {
    clock_ns = START_NS;
    slept_until_ns = 0;
    const uint64_t deadline_ns = START_NS + 10000000;
    CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, pools[i], deadline_ns), -ETIMEDOUT);
    CU_ASSERT_EQUAL(slept_until_ns, deadline_ns);
    CU_ASSERT_EQUAL(ws_self()->blocking, 0);
  }
  ws_group_complete(&scene.group, 1);
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, 0), 0);
  test_destroy(none);
  end_held();
}

static void complete_it(void)
{
  ws_group_complete(&scene.group, 1);
}

/// Completion and deadline at once: the group is complete.
static void complete_at_the_deadline(void)
{
  begin_held();
  ws_group_init(&scene.group, 1);
  in_sleep = complete_it;
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, START_NS + 10000000), 0);
  in_sleep = NULL;
  end_held();
}

/// The deadline comes while a thread spins.
static void spins_until_the_deadline(void)
{
  begin_held();
  ws_group_init(&scene.group, 1);
  slept_until_ns = 0;
  const uint64_t deadline_ns = START_NS + 20;
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, deadline_ns), -ETIMEDOUT);
  CU_ASSERT(clock_ns < deadline_ns + 20);
  ws_group_complete(&scene.group, 1);
  end_held();
}

/// After a wait that was late, the next wait can take back the tasks that were handed to a worker.
static void handed_tasks_are_not_forgotten(void)
{
  begin_held();
  push_all();
  ws_queue_t *lane = ws_here_known(scene.pool).queue;
  lane->handed = true;
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.group, scene.pool, SOON_NS), -ETIMEDOUT);
  CU_ASSERT_TRUE(lane->handed);
  ws_group_wait(&scene.group, scene.pool);
  CU_ASSERT_FALSE(lane->handed);
  end_held();
}

/// A task waits with a deadline inside the wait for it: the outer wait runs what is left.
static void nested(void *unused)
{
  (void)unused;
  clock_ns = START_NS;
  push_all();
  scene.result[0] = ws_group_wait_until(&scene.group, scene.pool, SOON_NS);
  scene.runs_then = runs();
  scene.result[1] = ws_group_wait_until(&scene.group, NULL, UINT64_MAX);
  clock_ns = 0;
}

static void a_task_waits_in_a_pool_of_one(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  ws_group_init(&scene.all, 1);
  test_push(scene.pool, nested, NULL, &scene.all);
  ws_group_wait(&scene.all, NULL); // the worker runs it
  CU_ASSERT_EQUAL(scene.result[0], -ETIMEDOUT);
  CU_ASSERT_EQUAL(scene.runs_then, 2);
  CU_ASSERT_EQUAL(scene.result[1], 0);
  CU_ASSERT_EQUAL(runs(), TASKS);
  test_destroy(scene.pool);
}

static void leaves_the_rest(void *unused)
{
  (void)unused;
  clock_ns = START_NS;
  push_all();
  scene.result[0] = ws_group_wait_until(&scene.group, scene.pool, SOON_NS);
}

static void the_outer_wait_may_run_the_rest(void)
{
  begin_held();
  ws_group_init(&scene.all, 1);
  test_push(scene.pool, leaves_the_rest, NULL, &scene.all);
  ws_group_wait(&scene.all, scene.pool);
  CU_ASSERT_EQUAL(scene.result[0], -ETIMEDOUT);
  CU_ASSERT_EQUAL(runs(), 2);
  ws_group_wait(&scene.group, scene.pool);
  CU_ASSERT_EQUAL(runs(), TASKS);
  end_held();
}

static void pool_waits(void)
{
  begin_held();
  push_all();
  CU_ASSERT_EQUAL(ws_pool_wait_until(NULL, UINT64_MAX), -EINVAL);
  CU_ASSERT_EQUAL(ws_pool_wait_until(scene.pool, START_NS), -ETIMEDOUT);
  CU_ASSERT_EQUAL(runs() + ws_load_relaxed(&scene.unrelated), 0);
  while (runs() < 2) {
    clock_ns = START_NS;
    CU_ASSERT_EQUAL(ws_pool_wait_until(scene.pool, SOON_NS), -ETIMEDOUT);
  }
  CU_ASSERT_EQUAL(runs(), 2);
  clock_ns = START_NS;
  slept_until_ns = 0;
  CU_ASSERT_EQUAL(ws_pool_wait_until(scene.pool, START_NS + 10000000), -ETIMEDOUT); // one task is in its gate
  CU_ASSERT_EQUAL(runs(), TASKS);
  CU_ASSERT_EQUAL(slept_until_ns, START_NS + 10000000);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->waiters), 0);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait_until(scene.pool, UINT64_MAX), 0);
  CU_ASSERT_EQUAL(ws_pool_wait_until(scene.pool, 0), 0);
  end_held();
}

static void counts(void *unused)
{
  (void)unused;
  ws_add_relaxed(&scene.runs, 1);
}

static void pushes_and_stands(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < TASKS; i++)
    test_push(scene.pool, counts, NULL, &scene.group);
  test_gate_task(&scene.gate);
}

/// The task on the worker may wait for what it has pushed: that must not stay in the caller's queue.
static void nothing_is_taken_from_a_worker(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  test_gate_init(&scene.gate);
  ws_group_init(&scene.group, TASKS);
  ws_group_init(&scene.all, 1);
  test_push(scene.pool, pushes_and_stands, NULL, &scene.all);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  clock_ns = START_NS;
  CU_ASSERT_EQUAL(ws_group_wait_until(&scene.all, scene.pool, START_NS + 10000000), -ETIMEDOUT);
  clock_ns = START_NS;
  CU_ASSERT_EQUAL(ws_pool_wait_until(scene.pool, START_NS + 10000000), -ETIMEDOUT);
  CU_ASSERT_EQUAL(runs(), 0);
  end_held();
  CU_ASSERT_EQUAL(runs(), TASKS);
}

static void waits_for_its_pool(void *unused)
{
  (void)unused;
  scene.result[0] = ws_pool_wait_until(scene.pool, 0);
}

static void a_task_cannot_wait_for_its_pool(void)
{
  scene = (scene_t){.pool = test_pool(1)};
  test_push(scene.pool, waits_for_its_pool, NULL, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  CU_ASSERT_EQUAL(scene.result[0], -EDEADLK);
  test_destroy(scene.pool);
}

static void test_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
}

TEST_MAIN_SEAMS(test_seams, "until", TEST_CASE(past_deadline_runs_nothing),
                TEST_CASE(no_task_begins_after_the_deadline), TEST_CASE(no_deadline),
                TEST_CASE(sleeps_until_the_deadline), TEST_CASE(complete_at_the_deadline),
                TEST_CASE(spins_until_the_deadline), TEST_CASE(handed_tasks_are_not_forgotten),
                TEST_CASE(a_task_waits_in_a_pool_of_one), TEST_CASE(the_outer_wait_may_run_the_rest),
                TEST_CASE(pool_waits), TEST_CASE(nothing_is_taken_from_a_worker),
                TEST_CASE(a_task_cannot_wait_for_its_pool))
