// SPDX-License-Identifier: BSD-3-Clause
/// @file test_ws_sched_full.c
/// The capacity of the interface ws_sched: exactly so many tasks are posted and not done, for posts of a
/// thread outside, of a task, and of more threads than there are lanes.

#include "ws_sched_test.h"

#define CAPACITY_MAX 130u

static ws_aptr_t watched; ///< a task; NULL = none
static ws_au32_t gives, early; ///< of its place; early: the task was complete before

/// A place is given back by the number of the thread.
TEST_WRAP(int32_t, ws_worker_index, (void))
{
  const ws_sched_task_t *task = ws_load_acquire(&watched);
  if (task) {
    ws_add_relaxed(&gives, 1);
    ws_add_relaxed(&early, sched_is_complete(task) == 1);
  }
  return __real_ws_worker_index();
}

/// Tasks for a scheduler that is held.
static struct {
  ws_sched_task_t task[CAPACITY_MAX + 1];
  ws_au64_t ran[CAPACITY_MAX + 1];
} full;

static void hold_for(uint32_t workers, uint32_t capacity)
{
  memset(&full, 0, sizeof full);
  hold(workers, capacity);
  for (uint32_t i = 0; i <= CAPACITY_MAX; i++)
    sched_task_init(&full.task[i], test_count_task, &full.ran[i], (ws_priority_t)(i % 3));
}

/// @return how many of the first @p count tasks were posted, up to the first that was refused
static uint32_t post_up_to(uint32_t count, int *error)
{
  uint32_t posted = 0;
  while (posted < count && (*error = sched_post(held.sched, &full.task[posted])) == 0)
    posted++;
  return posted;
}

TEST_CASE(exactly_the_capacity)
{
  static const uint32_t capacity[] = {1, 2, 3, 4, 5, 17, 64, 130};
  for (uint32_t c = 0; c < TEST_COUNT(capacity); c++)
    for (uint32_t workers = 1; workers <= 3 && workers <= capacity[c]; workers++) {
      const uint32_t rest = capacity[c] - workers; // the tasks in the gate are not done
      int error = 0;
      hold_for(workers, capacity[c]);
      CU_ASSERT_EQUAL(post_up_to(rest + 1, &error), rest);
      CU_ASSERT_EQUAL(error, -EAGAIN);
      CU_ASSERT_EQUAL(sched_is_complete(&full.task[rest]), 1); // it is not in use
      let_go();
      for (uint32_t i = 0; i <= rest; i++)
        CU_ASSERT_EQUAL(test_value(&full.ran[i]), i < rest);
      CU_ASSERT_EQUAL(post_up_to(rest + 1, &error), rest + 1); // every place is free again
      end_held();
      CU_ASSERT_EQUAL(test_value(&full.ran[rest]), 1);
    }
}

/// What a task saw that posted until it was refused.
static struct {
  uint32_t posted;
  int error;
} seen;

static void post_inside(void *unused)
{
  seen.posted = post_up_to(CAPACITY_MAX, &seen.error);
  test_gate_task(&held.gate);
}

TEST_CASE(exactly_the_capacity_from_a_task)
{
  ws_sched_task_t poster;
  hold_for(1, 40);
  let_go();
  sched_task_init(&poster, post_inside, NULL, WS_PRIORITY_NORMAL);
  CU_ASSERT_EQUAL(sched_post(held.sched, &poster), 0);
  CU_ASSERT_FATAL(test_gate_await(&held.gate, 1));
  CU_ASSERT(seen.posted == 39 && seen.error == -EAGAIN); // the poster has a place itself
  CU_ASSERT_EQUAL(sched_post(held.sched, &held.holder[0]), -EAGAIN);
  let_go();
  for (uint32_t i = 0; i < CAPACITY_MAX; i++)
    CU_ASSERT_EQUAL(test_value(&full.ran[i]), i < 39);
  end_held();
}

#define THREADS (WS_SCHED_LANES + 5)
#define EACH 10u

static struct {
  ws_au32_t next, posted, refused, other;
  test_gate_t gate; ///< a thread ends when all have posted: they need a lane each at the same time
} crowd;

static void *post_some(void *unused)
{
  const uint32_t first = ws_add_relaxed(&crowd.next, 1) * EACH;
  for (uint32_t i = first; i < first + EACH; i++) {
    const int error = sched_post(held.sched, &full.task[i]);
    ws_add_relaxed(error == 0 ? &crowd.posted : error == -EAGAIN ? &crowd.refused : &crowd.other, 1);
  }
  test_gate_task(&crowd.gate);
  return NULL;
}

TEST_CASE(exactly_the_capacity_from_more_threads_than_lanes)
{
  const uint32_t capacity = THREADS * EACH - 7;
  memset(&crowd, 0, sizeof crowd);
  test_gate_init(&crowd.gate);
  hold_for(2, capacity + 2);
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < THREADS; i++)
    test_spawn(&threads, post_some, NULL);
  CU_ASSERT_FATAL(test_gate_await(&crowd.gate, THREADS));
  CU_ASSERT_EQUAL(ws_load_relaxed(&crowd.posted), capacity);
  CU_ASSERT_EQUAL(ws_load_relaxed(&crowd.refused), 7);
  CU_ASSERT_EQUAL(ws_load_relaxed(&crowd.other), 0);
  let_go();
  uint64_t ran = 0;
  for (uint32_t i = 0; i <= CAPACITY_MAX; i++)
    ran += test_value(&full.ran[i]);
  CU_ASSERT_EQUAL(ran, capacity);
  test_gate_let(&crowd.gate, THREADS);
  test_join(&threads);
  end_held();
  test_gate_destroy(&crowd.gate);
}

TEST_CASE(the_place_is_free_before_the_task_is_complete)
{
  ws_au64_t ran = {0};
  ws_sched_task_t task;
  ws_sched_t *sched = sched_init(1, 1);
  sched_task_init(&task, test_count_task, &ran, WS_PRIORITY_NORMAL);
  ws_store_release(&watched, &task);
  CU_ASSERT_EQUAL(sched_post(sched, &task), 0);
  CU_ASSERT_EQUAL(sched_execute(sched), 0);
  ws_store_release(&watched, NULL);
  CU_ASSERT_EQUAL(ws_load_relaxed(&gives), 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&early), 0);
  CU_ASSERT_EQUAL(sched_fini(sched), 0);
}

/// All workers stand in the gate, so this returns only if the thread runs its task itself.
static void *help_yourself(void *task)
{
  ws_add_relaxed(&crowd.posted, sched_post(held.sched, task) == 0);
  ws_add_relaxed(&crowd.other, sched_execute(held.sched) != 0);
  return NULL;
}

/// The last of the threads that have queues of their own helps. The others have posted and stay.
TEST_CASE(the_last_lane_helps)
{
  memset(&crowd, 0, sizeof crowd);
  test_gate_init(&crowd.gate);
  hold_for(1, CAPACITY_MAX); // this thread has the first
  test_threads_t threads = {0};
  for (uint32_t i = 0; i < WS_SCHED_LANES - 2; i++)
    test_spawn(&threads, post_some, NULL);
  CU_ASSERT_FATAL(test_gate_await(&crowd.gate, WS_SCHED_LANES - 2));
  sched_task_init(&full.task[CAPACITY_MAX], test_gate_let_one, &held.gate, WS_PRIORITY_NORMAL);
  test_in_threads(1, help_yourself, &full.task[CAPACITY_MAX]);
  CU_ASSERT_EQUAL(ws_load_relaxed(&crowd.posted), (WS_SCHED_LANES - 2) * EACH + 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&crowd.other), 0);
  test_gate_let(&crowd.gate, WS_SCHED_LANES - 2);
  test_join(&threads);
  end_held();
  test_gate_destroy(&crowd.gate);
}

TEST_MAIN("ws_sched_full")
