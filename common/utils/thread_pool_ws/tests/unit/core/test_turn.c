// SPDX-License-Identifier: BSD-3-Clause
/// @file test_turn.c
/// A wait reaches each task that it may run, although tasks that were pushed since its begin push their
/// successors without end (chains). The only worker that could help stands in a gate.
#include <string.h>

#include "../../../core/ws_next.h"
#include "../../../core/ws_run.h"
#include "../../../pool/ws_lane.h"
#include "../../support/ws_test.h"

/// Links after which a chain ends that should have ended long before.
#define LINKS_MAX 100000u
/// Searches from one turn to the next, and turns until one reaches as deep as it may.
#define TURN_EVERY 61u
#define DEEP_EVERY 16u

static struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_group_t group;
  ws_priority_t chain_priority; ///< of the links
  uint32_t unrelated; ///< tasks between those of the group
  uint32_t side_tasks; ///< that the first link pushes beside its successor, and that stay
  ws_au32_t links, links_until_told, told, unrelated_in_wait;
} scene;

/// The calling thread is in the wait. Others may run what that must not.
static _Thread_local bool waits;

static void begin(uint32_t workers)
{
  memset(&scene, 0, sizeof scene);
  const ws_settings_t settings = test_settings(workers);
  scene.pool = test_create(&settings);
  scene.unrelated = 1;
  test_gate_init(&scene.gate);
}

static void end(void)
{
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

static bool is_told(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.told);
}

/// The task that must have its turn.
static void tell(void *unused)
{
  (void)unused;
  ws_store_relaxed(&scene.links_until_told, ws_load_relaxed(&scene.links));
  ws_store_release(&scene.told, 1);
}

/// A task that the wait must not run.
static void note_unrelated(void *unused)
{
  (void)unused;
  if (waits)
    ws_add_relaxed(&scene.unrelated_in_wait, 1);
}

static void push(void (*func)(void *), ws_group_t *group, ws_priority_t priority)
{
  const ws_task_t task = {.func = func, .group = group, .priority = priority};
  if (ws_pool_push(scene.pool, task) != 0)
    ws_add_relaxed(&test_refused, 1);
}

static void run_link(void *unused)
{
  (void)unused;
  if (ws_add_relaxed(&scene.links, 1) < LINKS_MAX && !is_told(NULL))
    push(run_link, NULL, scene.chain_priority);
}

static void first_link(void *unused)
{
  for (uint32_t i = 0; i < scene.side_tasks; i++)
    push(test_empty_task, NULL, WS_PRIORITY_NORMAL);
  run_link(unused);
}

/// The group's older task lies under unrelated ones. Its newer one begins the chain.
static void wait_above_a_buried_task(void *unused)
{
  (void)unused;
  ws_group_init(&scene.group, 2);
  push(note_unrelated, NULL, WS_PRIORITY_NORMAL);
  push(tell, &scene.group, WS_PRIORITY_NORMAL);
  for (uint32_t i = 0; i < scene.unrelated; i++)
    push(note_unrelated, NULL, WS_PRIORITY_NORMAL);
  push(first_link, &scene.group, WS_PRIORITY_NORMAL);
  waits = true;
  ws_group_wait(&scene.group, scene.pool);
  waits = false;
}

/// A task of the group that pushes a task which lies below the chain, but above the mark.
static void tell_and_complete(void *unused)
{
  tell(unused);
  ws_group_complete(&scene.group, 1);
}

static void push_tell_then_link(void *unused)
{
  push(tell_and_complete, NULL, WS_PRIORITY_NORMAL);
  run_link(unused);
}

static void wait_above_a_pushed_task(void *unused)
{
  (void)unused;
  ws_group_init(&scene.group, 2);
  push(note_unrelated, NULL, WS_PRIORITY_NORMAL);
  push(push_tell_then_link, &scene.group, WS_PRIORITY_NORMAL);
  waits = true;
  ws_group_wait(&scene.group, scene.pool);
  waits = false;
}

/// @return links of the chain until the task had its turn
static uint32_t links_of_worker(void (*wait)(void *))
{
  test_push(scene.pool, wait, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_told, NULL));
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_in_wait), 0);
  return ws_load_relaxed(&scene.links_until_told);
}

/// The only worker stands, so that only the thread outside can run its tasks.
static uint32_t links_of_lane(void (*wait)(void *))
{
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  wait(NULL);
  CU_ASSERT_TRUE(is_told(NULL));
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.unrelated_in_wait), 0);
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  return ws_load_relaxed(&scene.links_until_told);
}

static void a_chain_lets_a_buried_task_have_a_turn(void)
{
  for (uint32_t outside = 0; outside <= 1; outside++) {
    begin(1);
    const uint32_t links =
        outside ? links_of_lane(wait_above_a_buried_task) : links_of_worker(wait_above_a_buried_task);
    CU_ASSERT(links <= 3 * TURN_EVERY);
    end();
  }
}

static void a_chain_lets_a_task_below_it_have_a_turn(void)
{
  for (uint32_t outside = 0; outside <= 1; outside++) {
    begin(1);
    const uint32_t links =
        outside ? links_of_lane(wait_above_a_pushed_task) : links_of_worker(wait_above_a_pushed_task);
    CU_ASSERT(links <= 3 * TURN_EVERY);
    end();
  }
}

static void a_chain_lets_a_deeply_buried_task_have_a_turn(void)
{
  begin(1);
  scene.unrelated = 500;
  CU_ASSERT(links_of_worker(wait_above_a_buried_task) <= 2 * DEEP_EVERY * TURN_EVERY);
  end();
  begin(1);
  scene.unrelated = 500;
  CU_ASSERT(links_of_lane(wait_above_a_buried_task) <= 2 * DEEP_EVERY * TURN_EVERY);
  end();
}

static void wait_for_low_priority(void *unused)
{
  (void)unused;
  ws_group_init(&scene.group, 2);
  push(tell, &scene.group, WS_PRIORITY_LOW);
  push(first_link, &scene.group, WS_PRIORITY_NORMAL);
  ws_group_wait(&scene.group, scene.pool);
}

/// Links of high priority, a task of normal priority, and one of low priority.
static void a_chain_of_high_priority_lets_others_have_a_turn(void)
{
  for (uint32_t low = 0; low <= 1; low++) {
    for (uint32_t outside = 0; outside <= 1; outside++) {
      void (*const wait)(void *) = low ? wait_for_low_priority : wait_above_a_buried_task;
      begin(1);
      scene.chain_priority = WS_PRIORITY_HIGH;
      CU_ASSERT((outside ? links_of_lane(wait) : links_of_worker(wait)) <= 8 * TURN_EVERY);
      end();
    }
  }
}

static ws_group_t above, first;
static void (*newest)(void *);

static void chain_of_group(void *unused)
{
  (void)unused;
  if (ws_add_relaxed(&scene.links, 1) < LINKS_MAX && !is_told(NULL))
    push(chain_of_group, ws_group_tag(&scene.group), scene.chain_priority);
}

/// Two waits move a task out of their way that belongs to the third. Then a chain of the third one's group
/// begins.
static void wait_for_what_was_moved(void *unused)
{
  (void)unused;
  ws_group_init(&first, 1);
  ws_group_init(&above, 1);
  ws_group_init(&scene.group, 1);
  push(test_empty_task, &first, scene.chain_priority);
  push(test_empty_task, &above, scene.chain_priority);
  push(tell, &scene.group, scene.chain_priority);
  ws_group_wait(&above, scene.pool);
  ws_group_wait(&first, scene.pool);
  push(newest, ws_group_tag(&scene.group), scene.chain_priority);
  ws_group_wait(&scene.group, scene.pool);
}

static void a_chain_lets_what_was_moved_have_a_turn(void)
{
  for (uint32_t priority = WS_PRIORITY_NORMAL; priority <= WS_PRIORITY_HIGH; priority++) {
    begin(1);
    scene.chain_priority = (ws_priority_t)priority;
    newest = chain_of_group;
    CU_ASSERT(links_of_worker(wait_for_what_was_moved) <= 8 * TURN_EVERY);
    end();
  }
}

/// A wait in a wait: the inner one must not keep from the outer one what that may need.
static ws_group_t inner;

static void wait_inside(void *unused)
{
  (void)unused;
  ws_group_init(&inner, 1);
  push(test_empty_task, &inner, WS_PRIORITY_NORMAL);
  push(tell, NULL, WS_PRIORITY_NORMAL); // above the inner wait's task: it is put out of the way
  ws_group_wait(&inner, scene.pool);
}

static void complete_when_told(void *unused)
{
  (void)unused;
  if (is_told(NULL))
    ws_group_complete(&scene.group, 1);
  else if (ws_add_relaxed(&scene.links, 1) < LINKS_MAX)
    push(complete_when_told, NULL, WS_PRIORITY_NORMAL);
}

static void wait_outside(void *unused)
{
  (void)unused;
  ws_group_init(&scene.group, 3);
  push(complete_when_told, &scene.group, WS_PRIORITY_NORMAL);
  push(wait_inside, &scene.group, WS_PRIORITY_NORMAL);
  ws_group_wait(&scene.group, scene.pool);
}

static bool is_done_or_given_up(void *unused)
{
  (void)unused;
  return ws_group_done(&scene.group) || ws_load_relaxed(&scene.links) >= LINKS_MAX;
}

static void an_inner_wait_leaves_the_outer_ones_tasks(void)
{
  begin(1);
  ws_group_init(&scene.group, 1);
  test_push(scene.pool, wait_outside, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_done_or_given_up, NULL));
  CU_ASSERT_TRUE(is_told(NULL));
  if (!ws_group_done(&scene.group))
    ws_group_complete(&scene.group, 1); // it has failed: let the worker go
  ws_pool_wait(scene.pool);
  end();
}

/// A task of the group that runs on another worker has pushed a task there, and stands.
static void push_tell_then_stand(void *unused)
{
  (void)unused;
  push(tell, NULL, WS_PRIORITY_NORMAL);
  test_gate_task(&scene.gate);
}

static void wait_for_both(void *unused)
{
  (void)unused;
  push(run_link, &scene.group, WS_PRIORITY_NORMAL);
  ws_group_wait(&scene.group, scene.pool);
}

static void a_chain_lets_tasks_of_the_group_elsewhere_have_a_turn(void)
{
  begin(2);
  ws_group_init(&scene.group, 2);
  test_push(scene.pool, push_tell_then_stand, NULL, &scene.group);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  test_push(scene.pool, wait_for_both, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_told, NULL));
  CU_ASSERT(ws_load_relaxed(&scene.links_until_told) <= 4 * TURN_EVERY);
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  end();
}

TEST_MAIN("turn", TEST_CASE(a_chain_lets_a_buried_task_have_a_turn),
          TEST_CASE(a_chain_lets_a_task_below_it_have_a_turn),
          TEST_CASE(a_chain_lets_a_deeply_buried_task_have_a_turn),
          TEST_CASE(a_chain_of_high_priority_lets_others_have_a_turn),
          TEST_CASE(a_chain_lets_what_was_moved_have_a_turn),
          TEST_CASE(an_inner_wait_leaves_the_outer_ones_tasks),
          TEST_CASE(a_chain_lets_tasks_of_the_group_elsewhere_have_a_turn))
