// SPDX-License-Identifier: BSD-3-Clause
/// @file test_circle.c
/// Workers that search are counted by circle (ws_search.c). The last one of all circles must look for work
/// in the place of the pushes that relied on it. One thread plays all workers. What happens while the guard
/// takes a worker off is the test's (--wrap=ws_os_now_ns).
#include <string.h>

#include "../../../pool/ws_near.h"
#include "../../../sleep/ws_wake.h"
#include "../../../tasks/ws_queue.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define WORKERS 8u
#define CIRCLES 2u
#define LANE WORKERS
#define CELLS 8u
/// Workers of circle 0, of circle 1, and those that sleep.
enum { A, B, C, D, SLEEPERS_FIRST };

static struct ws_pool_s pool;
static ws_worker_t workers[WORKERS], *worker_of[WORKERS];
static ws_queue_t lane, *queue_of[WORKERS + 1];
static ws_inbox_t *inbox_of[WORKERS];
static ws_circle_t circles[CIRCLES];

static void (*clock_is_read)(void);

static uint64_t ws_os_now_ns_seam(void)
{
  void (*step)(void) = clock_is_read;
  clock_is_read = NULL;
  if (step)
    step();
  return __real_ws_os_now_ns();
}

static void moves_to(uint32_t worker, uint32_t circle)
{
  workers[worker].cache = 1 + circle;
}

/// @param count  of circles; 0 = the pool is small
static void begin(uint32_t tasks, uint32_t count)
{
  static ws_cell_t cells[CELLS], own_cells[WORKERS][2];
  memset(&pool, 0, sizeof(pool));
  memset(workers, 0, sizeof(workers));
  memset(circles, 0, sizeof(circles));
  memset(&lane, 0, sizeof(lane));
  pool.workers = pool.tasks.workers = pool.cpus = WORKERS;
  pool.mask_words = pool.tasks.mask_words = 1;
  pool.worker = worker_of;
  pool.caches = CIRCLES;
  pool.tasks.queue = queue_of;
  pool.tasks.inbox = inbox_of;
  pool.tasks.circle = circles;
  pool.tasks.circles = count;
  ws_store_relaxed(&pool.tasks.queues, WORKERS + 1);
  for (uint32_t i = 0; i < WORKERS; i++) {
    worker_of[i] = &workers[i];
    inbox_of[i] = &workers[i].inbox;
    ws_queue_init(&workers[i].queue, own_cells[i], 2);
    ws_tasks_put(&pool.tasks, &workers[i].queue, i);
    workers[i].pool = &pool;
    workers[i].index = i;
    workers[i].cpu = -1;
    moves_to(i, i >= C && i < SLEEPERS_FIRST);
  }
  ws_queue_init(&lane, cells, CELLS);
  ws_tasks_put(&pool.tasks, &lane, LANE);
  for (uint32_t i = 0; i < tasks; i++)
    ws_queue_push(&lane, &(ws_task_t){.func = test_empty_task}, 1);
  for (uint32_t i = SLEEPERS_FIRST; i < WORKERS; i++)
    ws_or_acq_rel(&pool.sleepers[0], UINT64_C(1) << i);
}

static uint32_t counted(uint32_t circle)
{
  return ws_load_relaxed(&pool.searching[circle].workers);
}

/// @return how many sleepers were woken
static uint32_t woken(void)
{
  uint32_t count = 0;
  for (uint32_t i = SLEEPERS_FIRST; i < WORKERS; i++)
    count += ws_load_relaxed(&workers[i].token);
  return count;
}

static void workers_are_counted_in_their_circle(void)
{
  begin(0, CIRCLES);
  CU_ASSERT_FALSE(ws_is_searched(&pool));
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[A]); // it is counted already
  ws_search_begin(&workers[C]);
  ws_search_begin(&workers[D]);
  CU_ASSERT_EQUAL(counted(0), 1);
  CU_ASSERT_EQUAL(counted(1), 2);
  CU_ASSERT_EQUAL(ws_searching(&pool), 3);
  CU_ASSERT_EQUAL(ws_search_leave(&workers[A]), 1);
  CU_ASSERT_TRUE(ws_is_searched(&pool));
  CU_ASSERT_EQUAL(ws_search_leave(&workers[C]), 2);
  CU_ASSERT_EQUAL(ws_search_leave(&workers[C]), 0); // it is off already
  CU_ASSERT_EQUAL(ws_search_leave(&workers[D]), 1);
  CU_ASSERT_FALSE(ws_is_searched(&pool));
  CU_ASSERT_EQUAL(ws_searching(&pool), 0);
}

static void a_small_pool_has_one_count(void)
{
  begin(0, 0);
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[C]);
  CU_ASSERT_EQUAL(counted(0), 2);
  CU_ASSERT_TRUE(ws_is_searched(&pool));
  CU_ASSERT_EQUAL(ws_searching(&pool), 2);
  ws_store_relaxed(&pool.searching[1].workers, 5); // not in use
  CU_ASSERT_EQUAL(ws_searching(&pool), 2);
}

/// It is another circle's when the worker leaves its search.
static void a_worker_that_has_moved_is_taken_off_where_it_was_counted(void)
{
  begin(0, CIRCLES);
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[C]);
  moves_to(A, 1);
  CU_ASSERT_EQUAL(ws_near_circle(&workers[A]), 1);
  CU_ASSERT_EQUAL(ws_search_leave(&workers[A]), 1);
  CU_ASSERT_EQUAL(counted(0), 0);
  CU_ASSERT_EQUAL(counted(1), 1);
  ws_search_begin(&workers[A]);
  CU_ASSERT_EQUAL(counted(1), 2);
}

static void the_last_searcher_wakes_a_worker_for_what_is_left(void)
{
  begin(1, CIRCLES);
  ws_search_begin(&workers[A]);
  ws_search_found(&workers[A]);
  CU_ASSERT_FALSE(workers[A].searching);
  CU_ASSERT_EQUAL(woken(), 1);
  CU_ASSERT_EQUAL(ws_searching(&pool), 1); // the woken one
  begin(0, CIRCLES); // nothing is left
  ws_search_begin(&workers[A]);
  ws_search_found(&workers[A]);
  CU_ASSERT_EQUAL(woken(), 0);
  CU_ASSERT_EQUAL(ws_searching(&pool), 0);
}

static void the_last_of_a_circle_leaves_the_look_to_other_circles(void)
{
  begin(5, CIRCLES);
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[C]);
  ws_search_found(&workers[A]);
  CU_ASSERT_EQUAL(woken(), 0);
  CU_ASSERT_EQUAL(ws_searching(&pool), 1);
  ws_search_found(&workers[C]);
  CU_ASSERT_EQUAL(woken(), 1);
}

static void one_of_several_of_a_circle_does_not_look(void)
{
  begin(5, CIRCLES);
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[B]);
  ws_search_found(&workers[A]);
  CU_ASSERT_EQUAL(woken(), 0);
  ws_search_found(&workers[B]);
  CU_ASSERT_EQUAL(woken(), 1);
}

/// So a wide burst has its workers soon.
static void a_worker_that_was_woken_wakes_two_though_others_search(void)
{
  begin(5, CIRCLES);
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[C]);
  workers[A].claimed = true;
  ws_search_found(&workers[A]);
  CU_ASSERT_FALSE(workers[A].claimed);
  CU_ASSERT_EQUAL(woken(), 2);
  begin(2, CIRCLES); // fewer tasks: the second one woken is one too many
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[C]);
  workers[A].claimed = true;
  ws_search_found(&workers[A]);
  CU_ASSERT_EQUAL(woken(), 1);
}

static void the_guard_takes_a_worker_off_where_it_was_counted(void)
{
  begin(5, CIRCLES);
  ws_search_begin(&workers[A]);
  ws_search_begin(&workers[C]);
  moves_to(A, 1);
  CU_ASSERT_TRUE(ws_search_starved(&workers[A]));
  CU_ASSERT_EQUAL(counted(0), 0);
  CU_ASSERT_EQUAL(counted(1), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.starved), 1);
  CU_ASSERT_FALSE(ws_search_starved(&workers[A])); // once
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.starved), 1);
  ws_search_found(&workers[A]); // the guard has looked in its place
  CU_ASSERT_EQUAL(woken(), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.starved), 0);
  CU_ASSERT_EQUAL(ws_searching(&pool), 1);
  CU_ASSERT_NOT_EQUAL(ws_load_relaxed(&workers[A].shun_until_ns), 0);
}

/// It was the last one: the guard has looked when it took the worker off.
static void a_starved_worker_does_not_look(void)
{
  begin(5, CIRCLES);
  ws_search_begin(&workers[A]);
  CU_ASSERT_TRUE(ws_search_starved(&workers[A]));
  ws_search_found(&workers[A]);
  CU_ASSERT_FALSE(workers[A].searching);
  CU_ASSERT_EQUAL(woken(), 0);
}

static void a_starved_worker_is_counted_again_where_it_is_now(void)
{
  begin(0, CIRCLES);
  ws_search_begin(&workers[A]);
  CU_ASSERT_TRUE(ws_search_starved(&workers[A]));
  CU_ASSERT_FALSE(ws_is_searched(&pool));
  moves_to(A, 1);
  ws_search_begin(&workers[A]);
  CU_ASSERT_EQUAL(counted(0), 0);
  CU_ASSERT_EQUAL(counted(1), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.starved), 0);
}

// The worker goes on while the guard takes it off.

static void worker_leaves(void)
{
  ws_search_leave(&workers[C]);
}

static void worker_searches_elsewhere(void)
{
  ws_search_leave(&workers[C]);
  moves_to(C, 0);
  ws_search_begin(&workers[C]);
}

static void worker_searches_again(void)
{
  ws_search_leave(&workers[C]);
  ws_search_begin(&workers[C]);
}

static void a_worker_that_goes_on_is_taken_off_once(void)
{
  static const struct {
    void (*step)(void);
    bool starved;
    uint32_t counted[CIRCLES];
  } wanted[] = {{worker_leaves, false, {0, 1}},
                {worker_searches_elsewhere, false, {1, 1}},
                {worker_searches_again, true, {0, 1}}};
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++) {
    begin(0, CIRCLES);
    ws_search_begin(&workers[C]);
    ws_search_begin(&workers[D]);
    clock_is_read = wanted[i].step;
    CU_ASSERT_EQUAL(ws_search_starved(&workers[C]), wanted[i].starved);
    CU_ASSERT_EQUAL(counted(0), wanted[i].counted[0]);
    CU_ASSERT_EQUAL(counted(1), wanted[i].counted[1]);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.starved), wanted[i].starved);
    ws_search_leave(&workers[C]);
    CU_ASSERT_EQUAL(counted(0), 0);
    CU_ASSERT_EQUAL(counted(1), 1);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool.tasks.starved), 0);
  }
}

static void a_sleeper_is_counted_in_its_circle_by_its_claimer(void)
{
  begin(0, CIRCLES);
  moves_to(SLEEPERS_FIRST, 1);
  CU_ASSERT_TRUE(ws_claim(&pool, SLEEPERS_FIRST));
  CU_ASSERT_FALSE(ws_claim(&pool, SLEEPERS_FIRST));
  CU_ASSERT_EQUAL(counted(1), 1);
  CU_ASSERT_EQUAL(counted(0), 0);
  CU_ASSERT_EQUAL(ws_search_leave(&workers[SLEEPERS_FIRST]), 1);
  CU_ASSERT_EQUAL(counted(1), 0);
}

static void test_seams(void)
{
  seam.ws_os_now_ns = ws_os_now_ns_seam;
}

TEST_MAIN_SEAMS(test_seams, "circle", TEST_CASE(workers_are_counted_in_their_circle),
                TEST_CASE(a_small_pool_has_one_count),
                TEST_CASE(a_worker_that_has_moved_is_taken_off_where_it_was_counted),
                TEST_CASE(the_last_searcher_wakes_a_worker_for_what_is_left),
                TEST_CASE(the_last_of_a_circle_leaves_the_look_to_other_circles),
                TEST_CASE(one_of_several_of_a_circle_does_not_look),
                TEST_CASE(a_worker_that_was_woken_wakes_two_though_others_search),
                TEST_CASE(the_guard_takes_a_worker_off_where_it_was_counted),
                TEST_CASE(a_starved_worker_does_not_look),
                TEST_CASE(a_starved_worker_is_counted_again_where_it_is_now),
                TEST_CASE(a_worker_that_goes_on_is_taken_off_once),
                TEST_CASE(a_sleeper_is_counted_in_its_circle_by_its_claimer))
