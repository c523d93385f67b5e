// SPDX-License-Identifier: BSD-3-Clause
/// @file task_joiners.c
/// Shapes B, joins: by which threads, after which steps, and which tasks a joining thread may run.
#include "task_group.h"

typedef struct {
  gate_t *gate;
  task_ans_t *ans;
} blocker_t;

static void block(void *blocker_arg)
{
  blocker_t *blocker = blocker_arg;
  gate_job(blocker->gate);
  completed_task_ans(blocker->ans);
}

/// Another group's tasks block until the join has returned. One worker stands with them, so the joiner has
/// every reason to help; who ran one of them would never return.
typedef struct {
  tpool_t *pool;
  group_t others, mine;
  blocker_t blocker;
  work_t work[3];
} meeting_t;

static void push_unrelated(meeting_t *meeting)
{
  static gate_t gate;
  gate_init(&gate);
  meeting->blocker = (blocker_t){.gate = &gate, .ans = group_unit(&meeting->others, 0)};
  pushTpool(meeting->pool, (task_t){.func = block, .args = &meeting->blocker});
}

static void push_mine(meeting_t *meeting)
{
  for (uint32_t i = 0; i < 3; i++)
    push_work(meeting->pool, &meeting->work[i], group_unit(&meeting->mine, i), i);
}

/// @param order  o, m: arm the others, mine; O, M: push for the others, for mine
static void check_joiner_runs_no_unrelated_tasks(const char *order)
{
  if (!contract_ours_only("the host's own may queue a task behind one that blocks"))
    return;
  meeting_t meeting = {.pool = contract_pool(2)};
  for (uint32_t round = 0; round < 300; round++) {
    for (const char *step = order; *step; step++) {
      if (*step == 'o')
        group_init(&meeting.others, 1);
      else if (*step == 'm')
        group_init(&meeting.mine, 3);
      else if (*step == 'O')
        push_unrelated(&meeting);
      else
        push_mine(&meeting);
    }
    group_join(&meeting.mine);
    gate_let(meeting.blocker.gate, 1);
    group_join(&meeting.others);
  }
  contract_end(meeting.pool);
}

static void joiner_runs_no_unrelated_tasks_of_an_older_group(void)
{
  check_joiner_runs_no_unrelated_tasks("oOmM");
}

static void joiner_runs_no_unrelated_tasks_of_a_younger_group(void)
{
  check_joiner_runs_no_unrelated_tasks("mMoO");
}

static void joiner_runs_no_unrelated_tasks_armed_before_and_pushed_before(void)
{
  check_joiner_runs_no_unrelated_tasks("omOM");
}

static void joiner_runs_no_unrelated_tasks_armed_before_and_pushed_after(void)
{
  check_joiner_runs_no_unrelated_tasks("omMO");
}

static void joiner_runs_no_unrelated_tasks_armed_after_and_pushed_before(void)
{
  check_joiner_runs_no_unrelated_tasks("moOM");
}

static void joiner_runs_no_unrelated_tasks_armed_after_and_pushed_after(void)
{
  check_joiner_runs_no_unrelated_tasks("moMO");
}

static void *join_here(void *group)
{
  group_join(group);
  return NULL;
}

static void another_thread_joins(void)
{
  tpool_t *pool = contract_pool(2);
  for (uint32_t round = 0; round < 200; round++) {
    group_t group;
    work_t work[4];
    threads_t threads = {.count = 0};
    group_init(&group, 4);
    if (round % 2)
      threads_start(&threads, join_here, &group);
    for (uint32_t i = 0; i < 4; i++)
      push_work(pool, &work[i], group_unit(&group, i), i);
    if (round % 2 == 0)
      threads_start(&threads, join_here, &group);
    threads_join(&threads);
    CU_ASSERT_EQUAL(work[3].out, 22);
  }
  contract_end(pool);
}

/// A pool may end as soon as the group of its last tasks was joined; the thread goes on with another pool.
static void pool_ends_right_after_the_join(void)
{
  for (uint32_t round = 0; round < 60; round++) {
    tpool_t *pool = contract_pool(2);
    group_t group, outer;
    work_t work[2];
    group_init(&outer, 1);
    group_init(&group, 1);
    push_work(pool, &work[0], group_unit(&group, 0), round);
    group_join(&group);
    contract_end(pool);
    completed_task_ans(group_unit(&outer, 0));
    group_join(&outer);
    CU_ASSERT_EQUAL(work[0].out, UINT64_C(7) * round + 1);
  }
}

/// Nothing of the pool is needed to join what is complete: the pool may be gone, and another in its place.
static void join_comes_after_the_end_of_the_pool(void)
{
  for (uint32_t round = 0; round < 60; round++) {
    tpool_t *pool = contract_pool(2);
    group_t group;
    work_t work[2];
    static gate_t gate;
    gate_init(&gate);
    group_init(&group, 2);
    push_work(pool, &work[0], group_unit(&group, 0), round);
    push_work(pool, &work[1], group_unit(&group, 1), round);
    // A task behind them: when it has begun, and the other worker is idle or gone, they have run or do run.
    pushTpool(pool, (task_t){.func = gate_job, .args = &gate});
    CU_ASSERT_TRUE(gate_await(&gate, 1));
    gate_let(&gate, 1);
    contract_sleep_ms(1);
    contract_end(pool);
    if (round % 2)
      pool = contract_pool(1);
    group_join(&group);
    if (round % 2)
      contract_end(pool);
    CU_ASSERT_EQUAL(work[0].out, UINT64_C(7) * round + 1);
    CU_ASSERT_EQUAL(work[1].out, UINT64_C(7) * round + 1);
  }
}

const contract_case_t task_joiners_cases[] = {
    CASE(joiner_runs_no_unrelated_tasks_of_an_older_group),
    CASE(joiner_runs_no_unrelated_tasks_of_a_younger_group),
    CASE(joiner_runs_no_unrelated_tasks_armed_before_and_pushed_before),
    CASE(joiner_runs_no_unrelated_tasks_armed_before_and_pushed_after),
    CASE(joiner_runs_no_unrelated_tasks_armed_after_and_pushed_before),
    CASE(joiner_runs_no_unrelated_tasks_armed_after_and_pushed_after),
    CASE(another_thread_joins),
    CASE(pool_ends_right_after_the_join),
    CASE(join_comes_after_the_end_of_the_pool),
    CASES_END,
};
