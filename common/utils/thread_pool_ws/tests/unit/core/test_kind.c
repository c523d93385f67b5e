// SPDX-License-Identifier: BSD-3-Clause
/// @file test_kind.c
/// Marks of waits in the queue of a kind: which tasks there a wait may run.
#include "../../../pool/ws_kind.h"
#include "../../../pool/ws_lane.h"
#include "../../support/ws_test.h"

static ws_pool_t *pool; ///< without workers: no other thread looks at the lane
static ws_queue_t *lane;
static ws_mark_t marks[2];
static ws_group_t groups[2];

static void begin(void)
{
  pool = test_pool(0);
  lane = ws_here(pool).queue;
  CU_ASSERT_PTR_NOT_NULL_FATAL(lane);
}

static void end(void)
{
  ws_task_t task;
  lane->mark = NULL;
  while (ws_kind_take_any(pool, lane, &task))
    continue;
  test_destroy(pool);
}

static void push(const char *letter, ws_group_t *group)
{
  const ws_task_t task = {.func = test_empty_task, .arg = (void *)(uintptr_t)letter, .group = group};
  ws_deque_t *deque = ws_kind_room(pool, lane, WS_KIND_HIGH, true);
  CU_ASSERT_PTR_NOT_NULL_FATAL(deque);
  ws_kind_push(pool, deque, WS_KIND_HIGH, &task, 0);
}

static void begin_wait(uint32_t wait)
{
  marks[wait].outer = lane->mark;
  ws_kind_mark(lane, &marks[wait]);
  lane->mark = &marks[wait];
}

/// The innermost wait is for the group of that index. @return the letter of the task that it finds
static char find(uint32_t wait)
{
  ws_task_t task;
  bool hid = false;
  if (!ws_kind_take_of(pool, lane, WS_KIND_HIGH, &groups[wait], false, &task, &hid))
    return '-';
  CU_ASSERT_EQUAL(task.priority, WS_PRIORITY_HIGH);
  return *(const char *)task.arg;
}

/// An inner wait takes its task from under one that was pushed since the outer wait began.
static void a_dig_does_not_take_a_task_from_an_outer_wait(void)
{
  begin();
  push("u", NULL);
  push("g", &groups[1]);
  begin_wait(0);
  push("c", NULL); // by a task of the outer wait
  begin_wait(1);
  CU_ASSERT_EQUAL(find(1), 'g');
  CU_ASSERT_EQUAL(find(1), '-');
  lane->mark = &marks[0];
  CU_ASSERT_EQUAL(find(0), 'c');
  CU_ASSERT_EQUAL(find(0), '-');
  end();
}

/// A wait takes its newest task, which lay below its mark: what that task pushes lies there again.
static void a_wait_runs_what_its_task_pushes(void)
{
  begin();
  push("u", NULL);
  push("g", &groups[0]);
  begin_wait(0);
  CU_ASSERT_EQUAL(find(0), 'g');
  push("c", NULL);
  CU_ASSERT_EQUAL(find(0), 'c');
  CU_ASSERT_EQUAL(find(0), '-');
  end();
}

/// The first push of a kind comes while waits are under way: its task is theirs.
static void waits_that_began_before_the_queues(void)
{
  begin();
  for (uint32_t i = 0; i < 2; i++) {
    memset(&marks[i], 0x7f, sizeof(marks[i]));
    marks[i].outer = lane->mark;
    lane->mark = &marks[i];
  }
  push("c", NULL);
  push("d", NULL);
  CU_ASSERT_EQUAL(find(1), 'd');
  lane->mark = &marks[0];
  CU_ASSERT_EQUAL(find(0), 'c');
  end();
}

TEST_MAIN("kind", TEST_CASE(a_dig_does_not_take_a_task_from_an_outer_wait),
          TEST_CASE(a_wait_runs_what_its_task_pushes), TEST_CASE(waits_that_began_before_the_queues))
