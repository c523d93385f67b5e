// SPDX-License-Identifier: BSD-3-Clause
/// @file test_look.c
/// A task in a queue that no worker prefers runs, too, while all workers have tasks of their own without end:
/// chains, in which each task pushes its successor.
#include <string.h>

#include "../../../tasks/ws_queue.h"
#include "../../support/ws_test.h"

/// Links after which a chain ends that should have been told to end long before.
#define LINKS_MAX 100000u
/// Searches between two looks, and between two looks that begin with the own oldest task.
#define LOOK_EVERY 61u
#define OLDEST_EVERY (4 * LOOK_EVERY)

static struct {
  ws_pool_t *pool;
  test_gate_t gate;
  ws_au32_t links, links_until_told, told;
} scene;

static void begin(uint32_t workers, bool fifo, uint32_t lanes)
{
  memset(&scene, 0, sizeof scene);
  ws_settings_t settings = test_settings(workers);
  settings.fifo = fifo;
  settings.lanes = lanes;
  settings.spin = WS_SPIN_OFF;
  scene.pool = test_create(&settings);
  test_gate_init(&scene.gate);
}

static void end(void)
{
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
}

/// The task that waits.
static void tell(void *unused)
{
  (void)unused;
  ws_store_relaxed(&scene.links_until_told, ws_load_relaxed(&scene.links));
  ws_store_release(&scene.told, 1);
}

static bool is_told(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.told);
}

/// One link of a chain that ends when the other task has run.
static void run_link(void *unused)
{
  if (ws_add_relaxed(&scene.links, 1) < LINKS_MAX && !is_told(NULL))
    test_push(scene.pool, run_link, unused, NULL);
}

static void stand_then_link(void *unused)
{
  test_gate_task(&scene.gate);
  run_link(unused);
}

static void *push_tell(void *unused)
{
  (void)unused;
  test_push(scene.pool, tell, NULL, NULL);
  return NULL;
}

/// @return links of the only worker's chain until the task of a thread outside ran
static uint32_t links_before_outside(bool fifo, uint32_t lanes)
{
  begin(1, fifo, lanes);
  test_push(scene.pool, stand_then_link, NULL, NULL); // takes the lane, if there is one
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  test_threads_t threads = {0};
  if (lanes > 1)
    push_tell(NULL);
  else
    test_spawn(&threads, push_tell, NULL); // no lane is left: the shared queue
  test_join(&threads);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_TRUE(test_until(is_told, NULL));
  ws_pool_wait(scene.pool);
  end();
  return ws_load_relaxed(&scene.links_until_told);
}

static void a_chain_lets_the_lanes_have_a_turn(void)
{
  // a look, unless it begins with the own oldest: then the next
  CU_ASSERT(links_before_outside(false, 2) <= 2 * LOOK_EVERY);
  CU_ASSERT(links_before_outside(true, 2) <= LOOK_EVERY);
}

static void a_chain_lets_the_shared_queue_have_a_turn(void)
{
  // one worker's queue has two visits before, each at a look; each fourth look is for the own oldest
  CU_ASSERT(links_before_outside(false, 1) <= 5 * LOOK_EVERY);
  CU_ASSERT(links_before_outside(true, 1) <= 3 * LOOK_EVERY);
}

static void tell_below_a_chain(void *unused)
{
  test_push(scene.pool, tell, NULL, NULL);
  run_link(unused);
}

/// The newest goes first: a task below a chain in the same queue.
static void a_chain_lets_what_lies_below_it_have_a_turn(void)
{
  begin(1, false, 1);
  test_push(scene.pool, tell_below_a_chain, NULL, NULL);
  CU_ASSERT_TRUE(test_until(is_told, NULL));
  ws_pool_wait(scene.pool);
  CU_ASSERT(ws_load_relaxed(&scene.links_until_told) <= OLDEST_EVERY);
  end();
}

static void stand_with_a_task_queued(void *unused)
{
  (void)unused;
  test_push(scene.pool, tell, NULL, NULL);
  test_gate_task(&scene.gate);
}

static void link_until_told(void *unused)
{
  if (!is_told(NULL))
    test_push(scene.pool, link_until_told, unused, NULL);
}

/// A worker stands in a task and has others queued. All others run chains, so none ever searches.
static void chains_take_the_tasks_of_a_worker_that_stands(void)
{
  for (uint32_t workers = 2; workers <= 3; workers++) {
    for (uint32_t fifo = 0; fifo <= 1; fifo++) {
      begin(workers, fifo, 2);
      for (uint32_t i = 0; i < workers; i++)
        test_push(scene.pool, link_until_told, NULL, NULL);
      test_push(scene.pool, stand_with_a_task_queued, NULL, NULL);
      CU_ASSERT_TRUE(test_until(is_told, NULL));
      test_gate_let(&scene.gate, 1);
      ws_store_release(&scene.told, 1); // also if it has failed
      ws_pool_wait(scene.pool);
      end();
    }
  }
}

enum { LANES = 10, EACH = 10 };
static uint32_t served[LANES],
    spread_max; ///< tasks of each lane that have run; the most that two differed by

/// Runs on the only worker.
static void serve(void *lane)
{
  uint32_t least = EACH, most = 0;
  ++*(uint32_t *)lane;
  for (uint32_t i = 0; i < LANES; i++) {
    least = served[i] < least ? served[i] : least;
    most = served[i] > most ? served[i] : most;
  }
  spread_max = most - least > spread_max ? most - least : spread_max;
  if (least == EACH)
    tell(NULL);
}

static pthread_barrier_t all_have_pushed; ///< a thread that ended before would leave its lane to the next one

static void *push_to_lane(void *lane)
{
  for (uint32_t i = 0; i < EACH; i++)
    test_push(scene.pool, serve, lane, NULL);
  pthread_barrier_wait(&all_have_pushed);
  return NULL;
}

/// No lane waits while others are served again and again.
static void a_chain_serves_the_lanes_in_turn(void)
{
  begin(1, false, LANES + 1);
  pthread_barrier_init(&all_have_pushed, NULL, LANES);
  test_push(scene.pool, stand_then_link, NULL, NULL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < LANES; i++)
    test_spawn(&threads, push_to_lane, &served[i]);
  test_join(&threads);
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_TRUE(test_until(is_told, NULL));
  ws_pool_wait(scene.pool);
  CU_ASSERT(ws_load_relaxed(&scene.links_until_told) < LINKS_MAX);
  CU_ASSERT_EQUAL(spread_max, 1);
  pthread_barrier_destroy(&all_have_pushed);
  end();
}

TEST_MAIN("look", TEST_CASE(a_chain_lets_the_lanes_have_a_turn),
          TEST_CASE(a_chain_lets_the_shared_queue_have_a_turn),
          TEST_CASE(a_chain_lets_what_lies_below_it_have_a_turn),
          TEST_CASE(chains_take_the_tasks_of_a_worker_that_stands),
          TEST_CASE(a_chain_serves_the_lanes_in_turn))
