// SPDX-License-Identifier: BSD-3-Clause
/// @file test_tick.c
/// The fairness tick: a task in a place that no search prefers runs after a bounded number of searches, while
/// tasks that go first never run out: chains, in which each task pushes its successor. Searches are counted.
///
/// The machine pretends to have two NUMA nodes. Linked with --wrap of ws_numa_plan.
#include <string.h>

#include "../../../include/ws_node.h"
#include "../../../tasks/ws_places.h"
#include "../../support/ws_letters.h"
#include "../../support/ws_seam.h"

static void ws_numa_plan_seam(struct ws_pool_s *of, const int32_t *cpu)
{
  (void)cpu;
  of->tasks.kinds = WS_KIND_NODE + 2;
  of->nodes.count = 2;
  of->nodes.of_number[1] = 1;
  memset(of->nodes.of_number + 2, 0xff, sizeof(of->nodes.of_number) - 2);
  of->nodes.near[0][1] = of->nodes.near[1][0] = 1;
  of->nodes.near[1][1] = 0;
}

/// Tasks after which a chain ends that should have been told to end long before.
#define LINKS_MAX 100000u
enum { KINDS = WS_KIND_NODE + 2, EMPTY_LANES = 20, LANES = 10, EACH = 10 };

static struct {
  ws_pool_t *pool;
  test_gate_t gate, other_gate; ///< of the worker that runs the chains, and of the one that stands
  uint32_t kinds; ///< that the scene uses
  ws_au32_t searches; ///< tasks of the worker that runs the chains
  ws_au32_t told, to_tell, told_at; ///< tasks that have had their turn, all of them; searches then
} scene;

static void begin(uint32_t workers, bool fifo, uint32_t lanes)
{
  memset(&scene, 0, sizeof scene);
  ws_settings_t settings = test_settings(workers);
  settings.fifo = fifo;
  settings.lanes = lanes;
  settings.spin = WS_SPIN_OFF;
  scene.pool = test_create(&settings);
  scene.kinds = 1;
  test_letters_forget();
  test_gate_init(&scene.gate);
  test_gate_init(&scene.other_gate);
}

static void end(void)
{
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
  test_gate_destroy(&scene.other_gate);
}

/// The bound that core/ws_next.h states, in searches. @param holding  places with tasks
static uint32_t bound(uint32_t places, uint32_t holding)
{
  return WS_ROUND_SEARCHES * (holding + places / 8 + 1);
}

static void push(void (*func)(void *), ws_kind_t kind)
{
  static const ws_priority_t priority[KINDS] = {WS_PRIORITY_NORMAL, WS_PRIORITY_HIGH, WS_PRIORITY_LOW};
  const uint32_t node = kind < WS_KIND_NODE ? WS_NODE_ANY : ws_node_hint(kind - WS_KIND_NODE);
  const ws_task_t task = {
      .func = func, .arg = (void *)(uintptr_t)kind, .priority = priority[kind], .node = node};
  if (ws_pool_push(scene.pool, task) != 0)
    ws_add_relaxed(&test_refused, 1);
}

static bool are_all_told(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.told) >= ws_load_relaxed(&scene.to_tell);
}

/// A task that must have its turn.
static void tell(void *unused)
{
  (void)unused;
  const uint32_t searches = ws_add_relaxed(&scene.searches, 1) + 1;
  if (ws_load_relaxed(&scene.told_at) < searches)
    ws_store_relaxed(&scene.told_at, searches);
  ws_add_release(&scene.told, 1);
}

static void push_to_tell(ws_kind_t kind)
{
  ws_add_relaxed(&scene.to_tell, 1);
  push(tell, kind);
}

/// One link of a chain that ends when all are told.
static void run_link(void *kind)
{
  if (ws_add_relaxed(&scene.searches, 1) < LINKS_MAX && !are_all_told(NULL))
    push(run_link, (ws_kind_t)(uintptr_t)kind);
}

/// A chain of each kind, on top of a task of that kind.
static void stand_then_link(void *unused)
{
  (void)unused;
  test_gate_task(&scene.gate);
  for (ws_kind_t kind = 0; kind < scene.kinds; kind++) {
    push(tell, kind);
    push(run_link, kind);
  }
}

static void stand_with_tasks_queued(void *unused)
{
  (void)unused;
  for (ws_kind_t kind = 0; kind < scene.kinds; kind++)
    push(tell, kind);
  test_gate_task(&scene.other_gate);
}

static void *push_outside(void *unused)
{
  (void)unused;
  push_to_tell(WS_KIND_NORMAL);
  return NULL;
}

/// Let the chains run until all are told. @return searches until then
static uint32_t run_chains(void)
{
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_TRUE(test_until(are_all_told, NULL));
  test_gate_let(&scene.other_gate, 1);
  ws_store_release(&scene.told, UINT32_MAX / 2); // also if it has failed
  ws_pool_wait(scene.pool);
  return ws_load_relaxed(&scene.told_at);
}

/// Normal tasks in the own queue, a lane, the queue of a worker that stands, and the overflow queue; three
/// tasks in the queue of each other kind. Tasks of each kind come without end.
static void each_place_is_served(void)
{
  for (uint32_t i = 0; i < 4; i++) {
    begin(2, i % 2, 1);
    scene.kinds = i / 2 ? KINDS : 1;
    push(stand_then_link, WS_KIND_NORMAL);
    CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
    push(stand_with_tasks_queued, WS_KIND_NORMAL);
    CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.other_gate, 1));
    for (ws_kind_t kind = 0; kind < scene.kinds; kind++)
      push_to_tell(kind);
    test_threads_t threads = {0};
    test_spawn(&threads, push_outside, NULL); // no lane is left: the overflow queue
    test_join(&threads);
    ws_add_relaxed(&scene.to_tell, 2 * scene.kinds); // those of the two workers
    const uint32_t each = scene.kinds > 1 ? 3 : 1;
    CU_ASSERT(run_chains() <= each * bound(3 + KINDS, 3 + scene.kinds));
    end();
  }
}

static pthread_barrier_t all_have_lanes, lanes_may_end;

static void *use_a_lane(void *func_arg)
{
  void (*const *func)(void *) = func_arg;
  push(*func, WS_KIND_NORMAL);
  pthread_barrier_wait(&all_have_lanes);
  pthread_barrier_wait(&lanes_may_end); // a thread that ended would leave its lane to the next one
  return NULL;
}

/// The oldest lane is the last that a worker comes to.
static void empty_lanes_are_passed_over(void)
{
  void (*func)(void *) = test_empty_task;
  begin(1, false, EMPTY_LANES + 1);
  pthread_barrier_init(&all_have_lanes, NULL, EMPTY_LANES + 1);
  pthread_barrier_init(&lanes_may_end, NULL, EMPTY_LANES + 1);
  push(test_empty_task, WS_KIND_NORMAL);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < EMPTY_LANES; i++)
    test_spawn(&threads, use_a_lane, &func);
  pthread_barrier_wait(&all_have_lanes);
  CU_ASSERT_TRUE(test_until_quiet(scene.pool)); // the lanes are empty
  push(stand_then_link, WS_KIND_NORMAL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  push_to_tell(WS_KIND_NORMAL);
  ws_add_relaxed(&scene.to_tell, 1);
  CU_ASSERT(run_chains() <= bound(EMPTY_LANES + 3, 2));
  pthread_barrier_wait(&lanes_may_end);
  test_join(&threads);
  pthread_barrier_destroy(&all_have_lanes);
  pthread_barrier_destroy(&lanes_may_end);
  end();
}

static void link_until_told(void *unused)
{
  (void)unused;
  if (!are_all_told(NULL))
    push(link_until_told, WS_KIND_NORMAL);
}

/// Several workers run chains, so that none ever runs out of tasks.
static void chains_take_the_tasks_of_a_worker_that_stands(void)
{
  for (uint32_t i = 0; i < 4; i++) {
    const uint32_t workers = 2 + i / 2;
    begin(workers, i % 2, 2);
    ws_store_relaxed(&scene.to_tell, 1);
    for (uint32_t j = 0; j < workers; j++)
      push(link_until_told, WS_KIND_NORMAL);
    push(stand_with_tasks_queued, WS_KIND_NORMAL);
    CU_ASSERT_TRUE(test_gate_await(&scene.other_gate, 1));
    run_chains();
    end();
  }
}

static uint32_t served[LANES], spread_max; ///< tasks of each lane; the most that two differed by

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
  tell(NULL);
}

static void *push_to_lane(void *lane)
{
  for (uint32_t i = 0; i < EACH; i++)
    test_push(scene.pool, serve, lane, NULL);
  pthread_barrier_wait(&all_have_lanes);
  return NULL;
}

/// No lane waits while others are served again and again.
static void a_chain_serves_the_lanes_in_turn(void)
{
  begin(1, false, LANES + 1);
  pthread_barrier_init(&all_have_lanes, NULL, LANES);
  push(stand_then_link, WS_KIND_NORMAL);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&scene.gate, 1));
  ws_store_relaxed(&scene.to_tell, LANES * EACH + 1);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < LANES; i++)
    test_spawn(&threads, push_to_lane, &served[i]);
  test_join(&threads);
  CU_ASSERT(run_chains() <= EACH * bound(LANES + 3, LANES + 1));
  CU_ASSERT_EQUAL(spread_max, 1);
  pthread_barrier_destroy(&all_have_lanes);
  end();
}

static void test_seams(void)
{
  seam.ws_numa_plan = ws_numa_plan_seam;
}

TEST_MAIN_SEAMS(test_seams, "tick", TEST_CASE(each_place_is_served), TEST_CASE(empty_lanes_are_passed_over),
                TEST_CASE(chains_take_the_tasks_of_a_worker_that_stands),
                TEST_CASE(a_chain_serves_the_lanes_in_turn))
