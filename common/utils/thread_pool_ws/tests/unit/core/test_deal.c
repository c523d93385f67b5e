// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deal.c
/// Workers that deal and workers that wait, and how long they wait (ws_deal.h). deal_scene.h names the
/// functions that are wrapped. Tests of the tasks that a dealer hands out: test_deal_give.c.
#include "../../../tasks/ws_places.h"
#include "../../support/ws_seam.h"
#include "deal_scene.h"

/// The time of a tiny task.

static void small_pools_have_no_circles(void)
{
  static const uint32_t wanted[][2] = {{0, 0}, {1, 0}, {15, 0}, {16, 2}, {17, 3}, {24, 3}, {40, 5}};
  for (uint32_t i = 0; i < TEST_COUNT(wanted); i++)
    CU_ASSERT_EQUAL(__real_ws_deal_circles(wanted[i][0]), wanted[i][1]);
  CU_ASSERT_EQUAL(__real_ws_deal_circles(128), 16);
  CU_ASSERT_EQUAL(__real_ws_deal_circles(WS_WORKERS_MAX), 16);
}

static void only_a_worker_without_tasks_deals_a_lane(void)
{
  begin(1);
  CU_ASSERT_TRUE(ws_deal_serves(&pool, here_of(0), LANE));
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(0), LANE - 1)); // a worker's queue
  CU_ASSERT_FALSE(ws_deal_serves(&pool, (ws_here_t){.queue = &lane}, LANE)); // a thread outside
  ws_queue_push(&workers[0].queue, &(ws_task_t){.func = test_empty_task}, 1);
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(0), LANE));
  CU_ASSERT_TRUE(ws_deal_serves(&pool, here_of(1), LANE));
  ws_store_relaxed(&pool.tasks.shared_tasks, 1); // a task of high priority would have to wait
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(1), LANE));
  ws_store_relaxed(&pool.tasks.shared_tasks, 0);
  pool.tasks.circles = 0;
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(1), LANE));
}

static void the_oldest_tasks_go_to_those_that_wait(void)
{
  begin(5);
  for (uint32_t i = 1; i < 4; i++)
    waits(i, 0);
  CU_ASSERT_EQUAL(gets(0), 3);
  for (int i = 1; i < 4; i++)
    CU_ASSERT_EQUAL(handed((uint32_t)i), i - 1);
  CU_ASSERT_EQUAL(ws_queue_size(&lane), 1);
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
  CU_ASSERT_TRUE(workers[0].was_handed);
}

/// A dealer claims fewer workers than there are tasks.
static void a_dealer_has_a_task_left_for_itself(void)
{
  begin(2);
  for (uint32_t i = 1; i < 4; i++)
    waits(i, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(handed(1), 0);
  CU_ASSERT_TRUE(still_waits(2));
  CU_ASSERT_TRUE(still_waits(3));
  CU_ASSERT_EQUAL(gets(4), -1); // the lane is empty
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

static void circles_are_served_from_the_own_one_on(void)
{
  begin(4);
  pool.tasks.circles = pool.caches = 2;
  for (uint32_t i = 0; i < WORKERS; i++)
    workers[i].cache = 1 + i % 2;
  waits(0, 0);
  waits(1, 1);
  waits(2, 0);
  CU_ASSERT_EQUAL(gets(3), 3);
  CU_ASSERT_EQUAL(handed(1), 0); // of its cache
  CU_ASSERT_EQUAL(handed(0), 1);
  CU_ASSERT_EQUAL(handed(2), 2);
}

static void a_worker_waits_for_the_dealer(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = worker_0_deals;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_TRUE(is_away(1));
  CU_ASSERT_TRUE(workers[1].was_handed);
  CU_ASSERT_TRUE(ws_deal_is_on(&lane)); // by the other worker
}

static void a_worker_deals_when_there_is_no_dealer_any_more(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = dealer_stops;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

/// It has lost its CPU.
static void a_dealer_that_does_nothing_is_not_waited_for(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_TRUE(is_away(1));
}

static void nobody_waits_for_tasks_of_an_empty_lane(void)
{
  begin(0);
  ws_store_relaxed(&lane.dealt, 1);
  CU_ASSERT_EQUAL(gets(1), -1);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_TRUE(ws_deal_is_on(&lane));
}

/// The thread that had claimed the worker before has neither filled nor declined its inbox.
static void a_worker_whose_inbox_is_claimed_does_not_wait(void)
{
  begin(2);
  ws_store_relaxed(&workers[1].inbox.state, WS_INBOX_WAITING);
  CU_ASSERT_FALSE(ws_deal_serves(&pool, here_of(1), LANE));
}

/// The worker that waits has lost its CPU; the dealer hands it a task, and the guard looks twice.
static void worker_1_gets_no_cpu(void)
{
  ws_task_t task;
  steps.shuts = NULL;
  ws_store_relaxed(&lane.dealt, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_TRUE(ws_inbox_is_full(&workers[1].inbox));
  for (uint32_t look = 0; look < 2; look++) {
    CU_ASSERT_FALSE(ws_places_take_stuck(&pool.tasks, &task));
    ws_inbox_watch(&pool.tasks);
  }
  CU_ASSERT_TRUE(ws_places_take_stuck(&pool.tasks, &task));
  CU_ASSERT_PTR_EQUAL(task.arg, &arg[0]);
}

static void the_task_of_a_worker_without_a_cpu_is_taken(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.shuts = worker_1_gets_no_cpu;
  CU_ASSERT_EQUAL(gets(1), 2);
  CU_ASSERT_TRUE(is_away(1));
}

static void is_not_counted(void)
{
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[1].trust), WS_TRUST_NOT);
  CU_ASSERT_EQUAL(ws_searching(&pool), 0);
}

static void no_push_relies_on_a_worker_that_waits(void)
{
  begin(5);
  ws_search_begin(&workers[1]);
  CU_ASSERT_EQUAL(ws_searching(&pool), 1);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = steps.shuts = is_not_counted;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_FALSE(workers[1].searching);
}

/// It waits where the dealers of its circle look first.
static void waits_in_circle_1(void)
{
  CU_ASSERT_EQUAL(ws_load_relaxed(&circles[1].mask[0]), 1u << 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&circles[0].mask[0]), 0);
}

static void a_worker_waits_in_its_circle(void)
{
  begin(5);
  pool.tasks.circles = pool.caches = 2;
  workers[1].cache = 2;
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = waits_in_circle_1;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
}

static uint64_t declined_ns;

/// The dealer has no task for it. The worker deals when it stops.
static void worker_1_is_declined(void)
{
  steps.opened = dealer_stops;
  ws_claim_t claim = ws_inbox_claim(&pool.tasks, circles[0].mask, 1);
  CU_ASSERT_EQUAL(claim.bits, 1u << 1);
  ws_inbox_decline(&pool.tasks, &workers[0].queue, &claim);
  declined_ns = steps.now_ns;
}

/// It looks after it has been declined, and not only when its time is over.
static void a_worker_that_is_declined_waits_anew(void)
{
  begin(5);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = worker_1_is_declined;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 2);
  CU_ASSERT_TRUE(steps.now_ns - declined_ns <= 10 * LOOK_NS);
}

static void a_lane_with_tasks_is_noted_until_it_is_empty(void)
{
  begin(2);
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
  CU_ASSERT_EQUAL(gets(0), 0); // its dealer notes it
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), LANE + 1);
  ws_deal_forget(&pool, LANE); // it holds a task
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), LANE + 1);
  ws_deal_forget(&pool, 0); // another queue, an empty one
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), LANE + 1);
  CU_ASSERT_EQUAL(gets(0), 1); // its dealer forgets it
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
  ws_store_relaxed(&pool.tasks.dealing, 1); // another lane
  ws_deal_forget(&pool, LANE);
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 1);
  pool.tasks.circles = 0; // a small pool
  CU_ASSERT_EQUAL(ws_deal_lane(&pool), 0);
}

#define BURSTS (TEST_SANITIZED ? 100u : 1000u)
#define BURST 24u
#define PUSHERS 2u
static ws_pool_t *real;
static ws_au64_t runs[PUSHERS][BURST];

static void *push_bursts(void *pusher)
{
  ws_au64_t *mine = runs[(uintptr_t)pusher];
  for (uint32_t i = 0; i < BURSTS; i++) {
    ws_group_t burst;
    ws_group_init(&burst, BURST);
    for (uint32_t k = 0; k < BURST; k++)
      ws_pool_push(real, (ws_task_t){.func = test_count_task, .arg = &mine[k], .group = &burst});
    ws_group_wait(&burst, real);
  }
  return NULL;
}

static void bursts_run_once_in_a_pool_with_circles(void)
{
  test_threads_t threads = {0};
  memset(&steps, 0, sizeof(steps));
  memset(runs, 0, sizeof(runs));
  real = test_pool(4);
  CU_ASSERT_EQUAL(real->tasks.circles, CIRCLES);
  for (uintptr_t i = 0; i < PUSHERS; i++)
    test_spawn(&threads, push_bursts, (void *)i);
  test_join(&threads);
  uint32_t wrong = 0;
  for (uint32_t i = 0; i < PUSHERS; i++)
    for (uint32_t k = 0; k < BURST; k++)
      wrong += ws_load_relaxed(&runs[i][k]) != BURSTS;
  CU_ASSERT_EQUAL(wrong, 0);
  test_destroy(real);
}

TEST_MAIN_SEAMS(deal_seams, "deal", TEST_CASE(small_pools_have_no_circles),
                TEST_CASE(only_a_worker_without_tasks_deals_a_lane),
                TEST_CASE(the_oldest_tasks_go_to_those_that_wait),
                TEST_CASE(a_dealer_has_a_task_left_for_itself),
                TEST_CASE(circles_are_served_from_the_own_one_on), TEST_CASE(a_worker_waits_for_the_dealer),
                TEST_CASE(a_worker_deals_when_there_is_no_dealer_any_more),
                TEST_CASE(a_dealer_that_does_nothing_is_not_waited_for),
                TEST_CASE(nobody_waits_for_tasks_of_an_empty_lane),
                TEST_CASE(a_worker_whose_inbox_is_claimed_does_not_wait),
                TEST_CASE(the_task_of_a_worker_without_a_cpu_is_taken),
                TEST_CASE(no_push_relies_on_a_worker_that_waits), TEST_CASE(a_worker_waits_in_its_circle),
                TEST_CASE(a_worker_that_is_declined_waits_anew),
                TEST_CASE(a_lane_with_tasks_is_noted_until_it_is_empty),
                TEST_CASE(bursts_run_once_in_a_pool_with_circles))
