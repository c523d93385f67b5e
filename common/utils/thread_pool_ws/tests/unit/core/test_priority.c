// SPDX-License-Identifier: BSD-3-Clause
/// @file test_priority.c
/// Three priorities: the order of tasks, and waits.
#include "../../support/ws_letters.h"

static ws_pool_t *pool;
static test_gate_t gate;

static void create(uint32_t workers, bool fifo, ws_full_t full)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.fifo = fifo;
  settings.full = full;
  pool = test_create(&settings);
  test_letters_forget();
  test_gate_init(&gate);
}

static void destroy(void)
{
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static ws_au32_t wrong_priorities;

static void a_worker_takes_the_highest_first(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "a1Ab2Bc3C", NULL);
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 9);
  test_letters_release(&gate, 9);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "ABC123abc"); // a thief takes the oldest of each
  destroy();
}

/// The pool's first task of a priority goes before older normal ones.
static void the_first_of_high_priority_goes_first(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  test_letters_push(pool, "12A", NULL);
  test_letters_release(&gate, 3);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "A12");
  destroy();
}

static void push_from_a_task(void *letters)
{
  test_letters_push(pool, letters, NULL);
}

/// A task's own normal tasks run newest first unless the pool is fifo, those of a kind oldest first.
static void own_tasks_keep_the_order_of_their_queue(void)
{
  static const char *const expected[2] = {"ABC321abc", "ABC123abc"};
  for (uint32_t fifo = 0; fifo < 2; fifo++) {
    create(1, fifo, WS_FULL_GROW);
    test_push(pool, push_from_a_task, (void *)(uintptr_t) "a1Ab2Bc3C", NULL);
    CU_ASSERT_TRUE(test_letters_await(9));
    CU_ASSERT_STRING_EQUAL(test_letters_ran(), expected[fifo]);
    CU_ASSERT_TRUE(test_until_quiet(pool));
    // the task that has pushed them, and those of a kind
    CU_ASSERT_EQUAL(TEST_SUM(pool, stolen_tasks), 1 + 6);
    destroy();
  }
}

/// A thread outside that waits runs its group's tasks, highest first, and leaves others where they are.
static void a_wait_reaches_its_tasks(void)
{
  create(1, false, WS_FULL_GROW);
  test_letters_hold(pool, &gate);
  ws_group_t group;
  ws_group_init(&group, 5);
  test_letters_push(pool, "a1A", &group);
  test_letters_push(pool, "xyz789XYZ", NULL);
  test_letters_push(pool, "bB", &group);
  test_letters_push(pool, "uvw456UVW", NULL);
  ws_group_wait(&group, pool);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "AB1ab");
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 18);
  test_letters_forget();
  test_letters_release(&gate, 18);
  CU_ASSERT_STRING_EQUAL(test_letters_ran(), "XYZUVW789456xyzuvw"); // the order is as before
  destroy();
}

static void push_and_wait(void *depth_arg)
{
  const uint32_t depth = *(const uint32_t *)depth_arg;
  if (depth == 0)
    return;
  const uint32_t next = depth - 1;
  ws_group_t group;
  ws_group_init(&group, 3);
  for (uint32_t i = 0; i < 3; i++) {
    test_push(pool, test_empty_task, NULL, NULL); // unrelated
    const ws_task_t task = {.func = push_and_wait,
                            .arg = (void *)(uintptr_t)&next,
                            .group = &group,
                            .priority = (ws_priority_t)i};
    if (ws_pool_push(pool, task) != 0)
      ws_add_relaxed(&test_refused, 1);
    test_letters_push(pool, "aA", NULL); // unrelated
  }
  ws_group_wait(&group, pool);
}

/// The pool's only worker waits for tasks of every priority, at every depth, below unrelated ones.
static void nested_waits_reach_their_tasks(void)
{
  create(1, false, WS_FULL_GROW);
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(pool, push_and_wait, &(uint32_t){5}, &group);
  while (!ws_group_done(&group)) // does not help
    test_sleep_ms(1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_letters_count(), 6 * (1 + 3 + 9 + 27 + 81));
  CU_ASSERT_EQUAL(test_stats(pool).queued_tasks, 0);
  destroy();
}

static void complete_the_other(void *group)
{
  ws_group_complete(group, 1);
}

/// A task of the group that pushes a task without a group, which the group waits for.
static void leave_the_rest_to(ws_priority_t priority, ws_group_t *group)
{
  const ws_task_t task = {.func = complete_the_other, .arg = group, .priority = priority};
  if (ws_pool_push(pool, task) != 0)
    ws_add_relaxed(&test_refused, 1);
}

static void leave_to_high(void *group)
{
  leave_the_rest_to(WS_PRIORITY_HIGH, group);
}

static void leave_to_low(void *group)
{
  leave_the_rest_to(WS_PRIORITY_LOW, group);
}

static void wait_for_the_rest(void *leave)
{
  ws_group_t group;
  ws_group_init(&group, 2);
  test_push(pool, *(void (**)(void *))leave, &group, &group);
  ws_group_wait(&group, pool);
}

/// A wait runs what its tasks have pushed, also of another priority: the only worker waits. With the first
/// push of that priority before the wait, and within it.
static void a_wait_runs_what_its_tasks_push(void)
{
  void (*leave[2])(void *) = {leave_to_high, leave_to_low};
  for (uint32_t i = 0; i < 4; i++) {
    create(1, false, WS_FULL_GROW);
    if (i >= 2)
      test_push(pool, push_from_a_task, (void *)(uintptr_t) "aA", NULL);
    ws_group_t group;
    ws_group_init(&group, 1);
    test_push(pool, wait_for_the_rest, &leave[i % 2], &group);
    ws_group_wait(&group, NULL); // does not help
    destroy();
  }
}

static void check_priority(void *priority)
{
  const ws_task_t *task = ws_current_task();
  if (!task || task->priority != *(const ws_priority_t *)priority)
    ws_add_relaxed(&wrong_priorities, 1);
}

static void a_task_knows_its_priority(void)
{
  create(2, false, WS_FULL_GROW);
  static const ws_priority_t priorities[3] = {WS_PRIORITY_NORMAL, WS_PRIORITY_HIGH, WS_PRIORITY_LOW};
  for (uint32_t i = 0; i < 300; i++) {
    const ws_priority_t *priority = &priorities[i % 3];
    const ws_task_t task = {
        .func = check_priority, .arg = (void *)(uintptr_t)priority, .priority = *priority};
    CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  }
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&wrong_priorities), 0);
  destroy();
}

TEST_MAIN("priority", TEST_CASE(a_worker_takes_the_highest_first),
          TEST_CASE(the_first_of_high_priority_goes_first),
          TEST_CASE(own_tasks_keep_the_order_of_their_queue), TEST_CASE(a_wait_reaches_its_tasks),
          TEST_CASE(nested_waits_reach_their_tasks), TEST_CASE(a_wait_runs_what_its_tasks_push),
          TEST_CASE(a_task_knows_its_priority))
