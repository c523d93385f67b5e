// SPDX-License-Identifier: BSD-3-Clause
/// @file test_deal_give.c
/// What a dealer does with the tasks that it has taken, and when workers that deal or wait complete what they
/// have run. deal_scene.h says what is wrapped, and ws_inbox_claim is.
#include "../../../core/ws_root.h"
#include "../../support/ws_seam.h"
#include "deal_scene.h"

/// Looks at the clock of a worker that waits for a dealer, until it completes what it has run.
#define HELD_LOOKS 8u

/// The first claimed worker is given a task: worker 1 leaves.
static void worker_1_leaves(void)
{
  if (steps.gives == 1)
    CU_ASSERT_FALSE(__real_ws_inbox_shut(&pool.tasks, &workers[1].inbox));
}

static void the_task_of_a_worker_that_has_left_is_the_dealers(void)
{
  begin(5);
  waits(1, 0);
  waits(2, 0);
  steps.gives_next = worker_1_leaves;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(steps.gives, 2);
  CU_ASSERT_EQUAL(handed(2), 1); // it waits still
  CU_ASSERT_EQUAL(ws_queue_size(&lane), 3);
  CU_ASSERT_EQUAL(ws_queue_size(&workers[0].queue), 0);
  CU_ASSERT_TRUE(is_away(1));
  CU_ASSERT_FALSE(ws_inbox_look(&workers[1].inbox));
  CU_ASSERT_FALSE(ws_inbox_has_gone(&workers[1].inbox));
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

/// Three workers are claimed, and leave.
static void workers_1_to_3_leave(void)
{
  for (uint32_t i = 1; i <= 3 && steps.gives == 1; i++)
    CU_ASSERT_FALSE(__real_ws_inbox_shut(&pool.tasks, &workers[i].inbox));
}

/// The dealer runs the first of the tasks that it must keep. The others are in its queue, where any worker
/// finds them, and a sleeper is woken for them.
static void several_tasks_that_are_kept_are_queued(void)
{
  ws_task_t task;
  begin(5);
  for (uint32_t i = 1; i <= 4; i++)
    waits(i, 0);
  pool.mask_words = 1;
  pool.cpus = WORKERS;
  ws_store_relaxed(&pool.sleepers[0], 1u << 4);
  ws_store_release(&workers[0].queue.root, &group);
  steps.gives_next = workers_1_to_3_leave;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(steps.gives, 4);
  CU_ASSERT_EQUAL(handed(4), 3);
  CU_ASSERT_EQUAL(ws_queue_size(&lane), 1);
  CU_ASSERT_EQUAL(ws_queue_size(&workers[0].queue), 2);
  CU_ASSERT_PTR_EQUAL(ws_own_load(&workers[0].queue.root), (void *)(uintptr_t)&ws_root_mixed);
  for (uint32_t i = 1; i <= 2; i++) {
    CU_ASSERT_TRUE(ws_queue_take_oldest(&workers[0].queue, &task));
    CU_ASSERT_PTR_EQUAL(task.arg, &arg[i]);
  }
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[4].token), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.sleepers[0]), 0);
}

/// Only those that have come into its queue need other workers.
static void a_single_task_that_is_kept_wakes_no_worker(void)
{
  begin(5);
  waits(1, 0);
  pool.mask_words = 1;
  pool.cpus = WORKERS;
  ws_store_relaxed(&pool.sleepers[0], 1u << 4);
  steps.gives_next = worker_1_leaves;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[4].token), 0);
}

/// Its queue could not take the tasks that it may have to keep.
static void a_dealer_without_room_hands_out_nothing(void)
{
  begin(5);
  waits(1, 0);
  static ws_cell_t few[OWN_CELLS / 2];
  ws_queue_init(&workers[0].queue, few, OWN_CELLS / 2);
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(steps.gives, 0);
  CU_ASSERT_TRUE(still_waits(1));
}

static uint64_t left_when_given;

static void looks_into_the_lane(void)
{
  if (steps.gives == 1)
    left_when_given = ws_queue_size(&lane);
}

/// Each of @p waiting workers is given a task, and the dealer has the next one.
static void deals_to(uint32_t waiting, uint32_t tasks)
{
  begin(tasks);
  for (uint32_t i = 1; i <= waiting; i++)
    waits(i, 0);
  steps.gives_next = looks_into_the_lane;
  CU_ASSERT_EQUAL(gets(0), (int)waiting);
  CU_ASSERT_EQUAL(steps.gives, waiting);
}

/// Up to four tasks of a claim are taken before the first of them is given.
static void a_dealer_takes_first_and_gives_then(void)
{
  deals_to(3, 5);
  CU_ASSERT_EQUAL(left_when_given, 2);
}

/// A fifth is not: it would wait for the dealer if that lost its CPU.
static void a_dealer_takes_four_tasks_at_once_at_most(void)
{
  deals_to(6, 7);
  CU_ASSERT_EQUAL(left_when_given, 3);
}

/// Another thread takes all tasks of the lane but one, when the dealer has claimed three workers.
static void lane_gets_short(void)
{
  ws_task_t task;
  while (steps.is_fake && ws_queue_size(&lane) > 1)
    ws_queue_take_oldest(&lane, &task);
}

static void (*claimed)(void);

static ws_claim_t ws_inbox_claim_seam(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most)
{
  const ws_claim_t claim = __real_ws_inbox_claim(tasks, mask, most);
  if (claimed)
    claimed();
  return claim;
}

static void workers_that_get_no_task_are_declined(void)
{
  begin(5);
  for (uint32_t i = 1; i < 4; i++)
    waits(i, 0);
  claimed = lane_gets_short;
  CU_ASSERT_EQUAL(gets(0), -1);
  claimed = NULL;
  CU_ASSERT_EQUAL(steps.gives, 1);
  CU_ASSERT_EQUAL(handed(1), 4);
  for (uint32_t i = 2; i < 4; i++)
    CU_ASSERT_FALSE(ws_inbox_is_claimed(&workers[i].inbox));
  CU_ASSERT_FALSE(ws_deal_is_on(&lane));
}

/// A worker that was given a task may get no CPU.
static void a_dealer_needs_the_guard(void)
{
  begin(5);
  pool.guarded = true;
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.guard), WS_GUARD_DORMANT);
  waits(1, 0);
  CU_ASSERT_EQUAL(gets(0), 2);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool.guard), WS_GUARD_STANDING);
}

static uint32_t waited(uint32_t worker)
{
  return ws_load_relaxed(&prewakes[worker].taken.tasks);
}

/// A task waits for a worker if that one comes from another task.
static void tasks_that_had_to_wait_are_noted(void)
{
  begin(4);
  CU_ASSERT_EQUAL(gets(0), 0);
  CU_ASSERT_EQUAL(waited(0), 1);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(waited(0), 2);
  ws_search_begin(&workers[1]);
  CU_ASSERT_EQUAL(gets(1), 2);
  CU_ASSERT_EQUAL(waited(1), 0);
}

static ws_group_t before; ///< of tasks that the worker has run

static void owes(uint32_t worker, ws_group_t *to)
{
  ws_group_init(&before, 2);
  workers[worker].due.group = to;
  workers[worker].due.tasks = 2;
}

static void nothing_is_owed_any_more(void)
{
  CU_ASSERT_TRUE(ws_group_done(&before));
}

static uint32_t held_looks; ///< at the clock, of a worker that waits, before its completions are made

static void looks_at_the_clock(void)
{
  held_looks += steps.opens > 0 && !ws_group_done(&before);
}

/// A worker that gets its next task before need not take the line of the group's word.
static void completions_are_held_for_a_while(void)
{
  begin(5);
  owes(1, &before);
  steps.look_ns = 1;
  ws_store_relaxed(&lane.dealt, 1);
  held_looks = 0;
  steps.looked = looks_at_the_clock;
  steps.shuts = nothing_is_owed_any_more;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_EQUAL(held_looks, HELD_LOOKS - 1); // then the look that follows the completion
  CU_ASSERT_EQUAL(workers[1].due.tasks, 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&workers[1].queue.count.run), 2);
}

static void with_a_task_at_once_nothing_is_completed(void)
{
  begin(5);
  owes(1, &before);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = worker_0_deals;
  CU_ASSERT_EQUAL(gets(1), 0);
  CU_ASSERT_EQUAL(workers[1].due.tasks, 2);
  CU_ASSERT_FALSE(ws_group_done(&before));
}

/// A thread that waits for another group need not wait for the tasks of this one.
static void a_dealer_completes_what_it_has_run_of_another_group(void)
{
  begin(5);
  owes(0, &before);
  waits(1, 0);
  steps.gives_next = nothing_is_owed_any_more;
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(steps.gives, 1);
  begin(5);
  owes(0, &group);
  waits(1, 0);
  CU_ASSERT_EQUAL(gets(0), 1);
  CU_ASSERT_EQUAL(workers[0].due.tasks, 2); // together with the next
}

/// Its completions are not put off until another search is over.
static void a_dealer_that_finds_nothing_completes_what_it_has_run(void)
{
  begin(0);
  owes(0, &before);
  CU_ASSERT_EQUAL(gets(0), -1);
  CU_ASSERT_TRUE(ws_group_done(&before));
}

/// The lane is empty when the worker has waited for a moment, and it searches elsewhere.
static void a_worker_that_waits_in_vain_completes_what_it_has_run(void)
{
  begin(0);
  owes(1, &before);
  ws_store_relaxed(&lane.dealt, 1);
  steps.opened = dealer_stops;
  CU_ASSERT_EQUAL(gets(1), -1);
  CU_ASSERT_EQUAL(steps.opens, 1);
  CU_ASSERT_TRUE(ws_group_done(&before));
}

static void test_seams(void)
{
  deal_seams();
  seam.ws_inbox_claim = ws_inbox_claim_seam;
}

TEST_MAIN_SEAMS(test_seams, "deal_give", TEST_CASE(the_task_of_a_worker_that_has_left_is_the_dealers),
                TEST_CASE(several_tasks_that_are_kept_are_queued),
                TEST_CASE(a_single_task_that_is_kept_wakes_no_worker),
                TEST_CASE(a_dealer_without_room_hands_out_nothing),
                TEST_CASE(a_dealer_takes_first_and_gives_then),
                TEST_CASE(a_dealer_takes_four_tasks_at_once_at_most),
                TEST_CASE(workers_that_get_no_task_are_declined), TEST_CASE(a_dealer_needs_the_guard),
                TEST_CASE(tasks_that_had_to_wait_are_noted), TEST_CASE(completions_are_held_for_a_while),
                TEST_CASE(with_a_task_at_once_nothing_is_completed),
                TEST_CASE(a_dealer_completes_what_it_has_run_of_another_group),
                TEST_CASE(a_dealer_that_finds_nothing_completes_what_it_has_run),
                TEST_CASE(a_worker_that_waits_in_vain_completes_what_it_has_run))
