// SPDX-License-Identifier: BSD-3-Clause
/// @file test_complete.c
/// Workers of a circle complete tasks: one collects, the others put theirs on its pile (ws_complete.h). One
/// thread plays all of them: what happens while the collector completes its own tasks is the test's
/// (--wrap=ws_group_complete). Then two workers and the guard of a pool with a circle do
/// (--wrap=ws_deal_circles, --wrap=ws_pile_count). A pile may be opened while the guard becomes dormant
/// (--wrap=ws_os_fence_heavy).
#include "../../../core/ws_complete.h"
#include "../../../core/ws_run.h"

#include <string.h>

#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_group_word.h"
#include "../../../tasks/ws_pile.h"
#include "../../support/ws_test.h"

#define WORKERS 4u
#define CIRCLES 2u

static struct ws_pool_s pool;
static ws_worker_t workers[WORKERS], *worker_of[WORKERS];
static ws_circle_t circles[CIRCLES];
static ws_group_t group, other;

static bool is_fake; ///< else the program runs a pool
static uint32_t completions; ///< calls that complete a group
static void (*completes)(void); ///< what happens before the next one

void __real_ws_group_complete(ws_group_t *of, uint32_t units);
void __wrap_ws_group_complete(ws_group_t *of, uint32_t units);
uint32_t __wrap_ws_deal_circles(uint32_t count);
uint32_t __wrap_ws_pile_count(uint32_t workers_count, uint32_t count);

uint32_t __wrap_ws_deal_circles(uint32_t count)
{
  (void)count;
  return 1;
}

uint32_t __wrap_ws_pile_count(uint32_t workers_count, uint32_t count)
{
  (void)workers_count;
  return count;
}

static ws_au32_t holds; ///< 1 = the next thread that completes stands in the gate first
static test_gate_t gate;

void __wrap_ws_group_complete(ws_group_t *of, uint32_t units)
{
  if (!is_fake) {
    if (ws_xchg_acq_rel(&holds, 0))
      test_gate_task(&gate);
    __real_ws_group_complete(of, units);
    return;
  }
  void (*step)(void) = completes;
  completes = NULL;
  completions++;
  if (step)
    step();
  __real_ws_group_complete(of, units);
}

static bool is_handed; ///< what the workers have run was handed over to them

/// A pool with @p piles. Its workers are all in circle 0, but the last in circle 1.
static void begin(uint32_t piles)
{
  memset(&pool, 0, sizeof(pool));
  memset(workers, 0, sizeof(workers));
  memset(circles, 0, sizeof(circles));
  pool.workers = pool.tasks.workers = WORKERS;
  pool.worker = worker_of;
  pool.tasks.circle = circles;
  pool.tasks.circles = CIRCLES;
  pool.tasks.piles = piles;
  pool.guarded = true;
  pool.caches = CIRCLES;
  for (uint32_t i = 0; i < WORKERS; i++) {
    worker_of[i] = &workers[i];
    workers[i].pool = &pool;
    workers[i].index = i;
    workers[i].cache = i == WORKERS - 1 ? 2 : 1;
  }
  completions = 0;
  completes = NULL;
  is_fake = true;
  is_handed = true;
}

static void completes_due(uint32_t worker, ws_group_t *of, uint32_t tasks)
{
  workers[worker].due.group = of;
  workers[worker].due.tasks = tasks;
  workers[worker].due.handed = is_handed;
  ws_complete_due(&workers[worker]);
  CU_ASSERT_EQUAL(workers[worker].due.tasks, 0);
}

static uint64_t run_by(uint32_t worker)
{
  return ws_load_relaxed(&workers[worker].queue.count.run);
}

static void tasks_are_completed_and_counted(void)
{
  for (uint32_t count = 0; count <= CIRCLES; count += CIRCLES) {
    begin(count);
    ws_group_init(&group, 5);
    completes_due(0, &group, 0);
    CU_ASSERT_EQUAL(completions, 0);
    completes_due(0, &group, 3);
    CU_ASSERT_EQUAL(completions, 1);
    CU_ASSERT_EQUAL(ws_group_units(&group), 2);
    CU_ASSERT_EQUAL(run_by(0), 3);
    completes_due(0, &group, 2);
    CU_ASSERT_TRUE(ws_group_done(&group));
    CU_ASSERT_EQUAL(run_by(0), 5);
    CU_ASSERT_FALSE(ws_pile_is_open(&pool.tasks));
  }
}

static void tasks_without_a_group_are_counted(void)
{
  for (uint32_t count = 0; count <= CIRCLES; count += CIRCLES) {
    begin(count);
    ws_group_init(&group, 1);
    completes_due(0, NULL, 2);
    completes_due(0, ws_group_tag(&group), 3);
    completes_due(0, ws_group_weak_tag(&group), 4);
    CU_ASSERT_EQUAL(completions, 0);
    CU_ASSERT_EQUAL(ws_group_units(&group), 1);
    CU_ASSERT_EQUAL(run_by(0), 9);
  }
}

static void no_pile_is_open(void)
{
  CU_ASSERT_FALSE(ws_pile_is_open(&pool.tasks));
}

static void stolen_tasks_are_not_collected(void)
{
  begin(CIRCLES);
  is_handed = false;
  ws_group_init(&group, 3);
  completes = no_pile_is_open;
  completes_due(0, &group, 3);
  CU_ASSERT_EQUAL(completions, 1);
  CU_ASSERT_TRUE(ws_group_done(&group));
}

static void worker_1_completes_too(void)
{
  completes_due(1, &group, 2);
  CU_ASSERT_EQUAL(run_by(1), 0); // its group is not complete yet: another thread counts the tasks
  CU_ASSERT_EQUAL(completions, 1);
}

static void the_collector_completes_for_its_circle(void)
{
  begin(CIRCLES);
  ws_group_init(&group, 10);
  completes = worker_1_completes_too;
  completes_due(0, &group, 3);
  CU_ASSERT_EQUAL(completions, 2);
  CU_ASSERT_EQUAL(ws_group_units(&group), 5);
  CU_ASSERT_EQUAL(run_by(0), 5);
  CU_ASSERT_EQUAL(run_by(1), 0);
  CU_ASSERT_FALSE(ws_pile_is_open(&pool.tasks));
}

static void without_piles_no_worker_collects(void)
{
  begin(0);
  ws_group_init(&group, 10);
  pool.tasks.circle = NULL;
  completes_due(0, &group, 3);
  completes_due(1, &group, 3);
  CU_ASSERT_EQUAL(run_by(0), 3);
  CU_ASSERT_EQUAL(run_by(1), 3);
}

static void others_complete_by_themselves(void)
{
  completes_due(1, &other, 2); // another group
  CU_ASSERT_EQUAL(run_by(1), 2);
  CU_ASSERT_TRUE(ws_group_done(&other));
  completes_due(WORKERS - 1, &group, 4); // another circle
  CU_ASSERT_EQUAL(run_by(WORKERS - 1), 4);
  CU_ASSERT_EQUAL(ws_group_units(&group), 6);
}

static void another_group_or_circle_is_not_collected_for(void)
{
  begin(CIRCLES);
  ws_group_init(&group, 10);
  ws_group_init(&other, 2);
  completes = others_complete_by_themselves;
  completes_due(0, &group, 3);
  CU_ASSERT_EQUAL(completions, 3);
  CU_ASSERT_EQUAL(ws_group_units(&group), 3);
  CU_ASSERT_EQUAL(run_by(0), 3);
}

static ws_group_t *stuck;
static uint32_t stuck_count;

/// The collector loses its CPU when another worker has added.
static void guard_takes(void)
{
  completes_due(1, &group, 2);
  CU_ASSERT_PTR_NULL(ws_pile_take_stuck(&circles[0], &stuck_count));
  stuck = ws_pile_take_stuck(&circles[0], &stuck_count);
  if (stuck)
    __real_ws_group_complete(stuck, stuck_count);
}

static void what_the_guard_has_completed_is_not_completed_again(void)
{
  begin(CIRCLES);
  ws_group_init(&group, 5);
  completes = guard_takes;
  completes_due(0, &group, 3);
  CU_ASSERT_PTR_EQUAL(stuck, &group);
  CU_ASSERT_EQUAL(stuck_count, 2);
  CU_ASSERT_EQUAL(completions, 1);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(run_by(0), 3);
  CU_ASSERT_FALSE(ws_pile_is_open(&pool.tasks));
}

/// The last task of the group completes it. Its memory is that of another group from then on.
static void group_is_reused(void)
{
  __real_ws_group_complete(&group, 2); // the collector's own tasks: nothing is left to do for the wait
  CU_ASSERT_TRUE(ws_group_done(&group));
  ws_group_init(&group, 4 + 2); // 2 for what the collector believes to complete now
  completes_due(1, &group, 3);
  CU_ASSERT_EQUAL(run_by(1), 0);
}

/// A pile is open when its group is done, and another group has that address.
static void a_later_group_at_that_address_is_collected_for(void)
{
  begin(CIRCLES);
  ws_group_init(&group, 2);
  completes = group_is_reused;
  completes_due(0, &group, 2);
  CU_ASSERT_EQUAL(ws_group_units(&group), 1);
  CU_ASSERT_EQUAL(run_by(0), 5);
  CU_ASSERT_FALSE(ws_pile_is_open(&pool.tasks));
}

static uint32_t guard_while_collecting;

static void looks_at_the_guard(void)
{
  guard_while_collecting = ws_load_relaxed(&pool.guard);
}

/// A collector may lose its CPU: the guard is STANDING before that.
static void worker_1_adds_and_looks_at_the_guard(void)
{
  looks_at_the_guard();
  CU_ASSERT_EQUAL(guard_while_collecting, WS_GUARD_DORMANT); // nothing lies on the pile
  completes_due(1, &group, 2);
  looks_at_the_guard();
}

static void a_worker_that_adds_needs_the_guard(void)
{
  begin(CIRCLES);
  ws_group_init(&group, 5);
  pool.guarded = true;
  completes = worker_1_adds_and_looks_at_the_guard;
  completes_due(0, &group, 3);
  CU_ASSERT_EQUAL(guard_while_collecting, WS_GUARD_STANDING);
  CU_ASSERT_TRUE(ws_group_done(&group));
}

static bool is_all_but_one_complete(void *unused)
{
  (void)unused;
  return ws_group_units(&group) == 1;
}

static bool is_pile_closed(void *of)
{
  return !ws_pile_is_open(&((ws_pool_t *)of)->tasks);
}

/// A worker has put its completion on the pile of one that goes on only when the guard has made it.
static void the_guard_completes_for_a_collector_without_a_cpu(void)
{
  ws_au64_t run = {0};
  is_fake = false;
  test_gate_init(&gate);
  ws_pool_t *real = test_pool(2);
  CU_ASSERT_EQUAL(real->tasks.circles, 1);
  ws_group_init(&group, 2);
  ws_store_release(&holds, 1);
  test_push(real, test_count_task, &run, &group);
  CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 1));
  CU_ASSERT_EQUAL(ws_group_units(&group), 2);
  test_push(real, test_count_task, &run, &group);
  CU_ASSERT_TRUE(test_until(is_all_but_one_complete, NULL));
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(real), 0);
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(test_value(&run), 2);
  CU_ASSERT_TRUE(test_until(is_pile_closed, real)); // after the group and the pool are done
  test_destroy(real);
  test_gate_destroy(&gate);
}

static ws_aptr_t opens_when_dormant; ///< a circle whose pile is open when the guard has become dormant

void __real_ws_os_fence_heavy(void);
void __wrap_ws_os_fence_heavy(void);

void __wrap_ws_os_fence_heavy(void)
{
  __real_ws_os_fence_heavy();
  ws_circle_t *circle = ws_xchg_acq_rel(&opens_when_dormant, NULL);
  if (circle && ws_pile_open(circle, &group))
    ws_pile_add(circle, &group, 1);
}

static void a_guard_that_becomes_dormant_sees_a_pile(void)
{
  is_fake = false;
  ws_pool_t *real = test_pool(2);
  CU_ASSERT_TRUE_FATAL(test_until_quiet(real));
  ws_group_init(&group, 1);
  ws_count_pushed(real, NULL, 1); // the task whose completion lies on the pile
  ws_store_release(&opens_when_dormant, &real->tasks.circle[0]);
  ws_fence_seq_cst();
  ws_need_guard(real);
  CU_ASSERT_EQUAL(ws_pool_wait(real), 0); // the guard wakes this thread
  CU_ASSERT_TRUE(ws_group_done(&group));
  CU_ASSERT_EQUAL(ws_pile_close(&real->tasks.circle[0]), 0);
  test_destroy(real);
}

TEST_MAIN("complete", TEST_CASE(tasks_are_completed_and_counted),
          TEST_CASE(tasks_without_a_group_are_counted), TEST_CASE(stolen_tasks_are_not_collected),
          TEST_CASE(the_collector_completes_for_its_circle), TEST_CASE(without_piles_no_worker_collects),
          TEST_CASE(another_group_or_circle_is_not_collected_for),
          TEST_CASE(what_the_guard_has_completed_is_not_completed_again),
          TEST_CASE(a_later_group_at_that_address_is_collected_for),
          TEST_CASE(a_worker_that_adds_needs_the_guard),
          TEST_CASE(the_guard_completes_for_a_collector_without_a_cpu),
          TEST_CASE(a_guard_that_becomes_dormant_sees_a_pile))
