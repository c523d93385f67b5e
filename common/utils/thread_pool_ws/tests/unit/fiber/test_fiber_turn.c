// SPDX-License-Identifier: BSD-3-Clause
/// @file test_fiber_turn.c
/// Fibers that yield without end, in a wait of a plain task, and in a queue that is full. Linked with
/// --wrap=ws_os_map: memory is the test's.
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

/// Yields after which a fiber gives up, where it should have ended long before.
#define YIELDS_MAX 100000u

static ws_au32_t no_memory;

static void *ws_os_map_seam(size_t bytes)
{
  return ws_load_acquire(&no_memory) ? NULL : __real_ws_os_map(bytes);
}

static struct {
  ws_group_t group;
  ws_sem_t sem;
  ws_au32_t yields, late; ///< yields; those after the group was done, and before the wait returned
  ws_au32_t returned, told;
  ws_au32_t fibers; ///< that have begun to poll, or have ended
} turn;

/// Push a task, and wait until it has returned: the thread outside does not help.
static void run_on_worker(void (*func)(void *))
{
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, func, NULL, &scene.group);
  CU_ASSERT_TRUE(test_until(is_done, &scene.group));
}

static void turn_begin(uint32_t units)
{
  scene_begin(1);
  memset(&turn, 0, sizeof turn);
  ws_group_init(&turn.group, units);
  ws_sem_init(&turn.sem, 0);
}

/// A fiber unrelated to the group polls for what the task does after its wait.
static void poll_return(void *unused)
{
  (void)unused;
  ws_add_relaxed(&turn.fibers, 1);
  while (!ws_load_acquire(&turn.returned) && ws_add_relaxed(&turn.yields, 1) < YIELDS_MAX) {
    if (ws_group_done(&turn.group))
      ws_add_relaxed(&turn.late, 1);
    note(ws_yield());
  }
}

/// Ends when all others poll.
static void end_last(void *others)
{
  while (ws_load_relaxed(&turn.fibers) < *(const uint32_t *)others)
    note(ws_yield());
}

#define POLLERS 3u
static const uint32_t pollers = POLLERS;

static void wait_among_pollers(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < POLLERS; i++)
    push_fiber(poll_return, NULL, NULL);
  push_fiber(end_last, &pollers, &turn.group);
  ws_group_wait(&turn.group, scene.pool);
  ws_store_release(&turn.returned, 1);
}

static bool has_returned(void *unused)
{
  (void)unused;
  return ws_load_acquire(&turn.returned);
}

/// The wait looks at its group each time that a fiber stops.
static void a_wait_returns_while_others_yield(void)
{
  turn_begin(1);
  run_on_worker(wait_among_pollers);
  ws_pool_wait(scene.pool);
  CU_ASSERT(ws_load_relaxed(&turn.late) <= 1);
  scene_end();
}

/// The group is completed by hand, from outside: the fibers poll until then.
static void a_wait_returns_after_the_last_unit_elsewhere(void)
{
  turn_begin(2);
  test_push(scene.pool, wait_among_pollers, NULL, NULL);
  while (ws_load_relaxed(&turn.yields) < 100)
    test_sleep_ms(1);
  ws_group_complete(&turn.group, 1);
  CU_ASSERT_TRUE(test_until(has_returned, NULL));
  ws_pool_wait(scene.pool);
  CU_ASSERT(ws_load_relaxed(&turn.late) <= 1);
  scene_end();
}

static void tell(void *unused)
{
  (void)unused;
  ws_store_release(&turn.told, 1);
}

static void poll_told(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&turn.sem) == 0);
  while (!ws_load_acquire(&turn.told) && ws_add_relaxed(&turn.yields, 1) < YIELDS_MAX)
    note(ws_yield());
}

static void post(void *unused)
{
  (void)unused;
  ws_sem_post(&turn.sem, 1);
}

static void do_nothing(void *unused)
{
  (void)unused;
}

static void wait_above_buried(void *unused)
{
  (void)unused;
  test_push(scene.pool, do_nothing, NULL, NULL);
  test_push(scene.pool, tell, NULL, &turn.group);
  test_push(scene.pool, do_nothing, NULL, NULL);
  test_push(scene.pool, post, NULL, &turn.group); // resumes the fiber, which then polls
  ws_group_wait(&turn.group, scene.pool);
}

/// A fiber that is resumed in the wait yields until a buried task of the group has run.
static void a_fiber_lets_a_buried_task_have_a_turn(void)
{
  turn_begin(2);
  push_fiber(poll_told, NULL, NULL);
  CU_ASSERT(await_parked(1));
  run_on_worker(wait_above_buried);
  ws_pool_wait(scene.pool);
  CU_ASSERT(ws_load_relaxed(&turn.yields) <= 3);
  scene_end();
}

#define CROWD 20u
static const uint32_t crowd = CROWD;

/// Fibers of the group on top of a task that the wait must not run: each has its turn at each round.
static void yield_in_turn(void *unused)
{
  (void)unused;
  ws_add_relaxed(&turn.fibers, 1);
  for (uint32_t i = 0; ws_load_relaxed(&turn.fibers) < CROWD && i < YIELDS_MAX; i++)
    note(ws_yield());
  note(ws_load_relaxed(&turn.fibers) == CROWD);
}

static void wait_for_crowd(void *unused)
{
  (void)unused;
  test_push(scene.pool, do_nothing, NULL, NULL);
  for (uint32_t i = 0; i < CROWD; i++)
    push_fiber(yield_in_turn, NULL, &turn.group);
  ws_group_wait(&turn.group, scene.pool);
}

static void wait_in_wait(void *unused)
{
  (void)unused;
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(scene.pool, wait_for_crowd, NULL, &group);
  ws_group_wait(&group, scene.pool);
}

static void fibers_in_a_wait_take_turns(void)
{
  for (uint32_t nested = 0; nested <= 1; nested++) {
    turn_begin(crowd);
    run_on_worker(nested ? wait_in_wait : wait_for_crowd);
    CU_ASSERT_EQUAL(ws_load_relaxed(&turn.fibers), CROWD);
    scene_end();
  }
}

static uint32_t depth_most; ///< tasks on the worker's stack, at most

static void note_depth(void)
{
  const ws_queue_t *queue = &scene.pool->worker[0]->queue;
  depth_most = queue->depth > depth_most ? queue->depth : depth_most;
}

static void yield_in_full(void *unused)
{
  (void)unused;
  for (uint32_t i = 0; i < 1000; i++) {
    note(ws_yield());
    note_depth();
  }
  ws_add_release(&turn.fibers, 1);
}

static void note_value(void *unused)
{
  (void)unused;
  note_depth();
  ws_add_release(&scene.value, 1);
}

static bool have_all_ended(void *unused)
{
  (void)unused;
  return ws_load_acquire(&turn.fibers) == CROWD && ws_load_acquire(&scene.value) == 1;
}

/// A full queue that cannot grow: a fiber that yields changes places with the oldest task.
static void fibers_yield_without_memory(void)
{
  for (uint32_t kind = WS_PRIORITY_NORMAL; kind <= WS_PRIORITY_HIGH; kind++) {
    memset(&turn, 0, sizeof turn);
    depth_most = 0;
    ws_settings_t settings = test_settings(1);
    settings.queue_capacity = 2;
    scene_begin_with(&settings);
    const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .priority = (ws_priority_t)kind};
    uint32_t pushed = 0;
    test_push(scene.pool, test_gate_task, &scene.gate, NULL); // its queue stays small
    CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
    for (uint32_t i = 0; i < CROWD; i++)
      pushed += ws_fiber_push(scene.pool, yield_in_full, NULL, NULL, &options) == 0;
    test_push(scene.pool, note_value, NULL, NULL);
    ws_store_release(&no_memory, 1);
    test_gate_let(&scene.gate, 1);
    CU_ASSERT_TRUE(test_until(have_all_ended, NULL)); // a wait would run fibers, too
    ws_store_release(&no_memory, 0);
    CU_ASSERT_EQUAL(pushed, CROWD);
    CU_ASSERT_EQUAL(ws_load_relaxed(&turn.fibers), CROWD);
    CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 1);
    CU_ASSERT(depth_most <= 2); // the worker's loop, and a task that made room
    scene_end();
  }
}

static void push_until_full(void *unused)
{
  (void)unused;
  ws_store_release(&no_memory, 1);
  for (uint32_t i = 0; i < 1000 && ws_fiber_push(scene.pool, do_nothing, NULL, NULL, NULL) == 0; i++)
    ;
  note(ws_fiber_push(scene.pool, do_nothing, NULL, NULL, NULL) == -ENOMEM);
  ws_store_release(&no_memory, 0);
}

static void make_stacks(void *unused)
{
  (void)unused;
  note(ws_yield());
}

/// A fiber that has not begun is not run in its push.
static void a_push_to_a_full_queue_fails_without_memory(void)
{
  ws_settings_t settings = test_settings(1);
  settings.queue_capacity = 2;
  scene_begin_with(&settings);
  for (uint32_t i = 0; i < CROWD; i++)
    push_fiber(make_stacks, NULL, NULL);
  ws_pool_wait(scene.pool);
  run_on_worker(push_until_full);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(test_stats(scene.pool).workers, 1);
  scene_end();
}

static void test_seams(void)
{
  seam.ws_os_map = ws_os_map_seam;
}

TEST_MAIN_SEAMS(test_seams, "fiber_turn", TEST_CASE(a_wait_returns_while_others_yield),
                TEST_CASE(a_wait_returns_after_the_last_unit_elsewhere),
                TEST_CASE(a_fiber_lets_a_buried_task_have_a_turn), TEST_CASE(fibers_in_a_wait_take_turns),
                TEST_CASE(fibers_yield_without_memory),
                TEST_CASE(a_push_to_a_full_queue_fails_without_memory))
