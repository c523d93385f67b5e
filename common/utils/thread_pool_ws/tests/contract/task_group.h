// SPDX-License-Identifier: BSD-3-Clause
/// @file task_group.h
/// A group of tasks, the same for both shapes that have them. B1: an answer for each task; B2: a counter.
#ifndef CONTRACT_TASK_GROUP_H
#define CONTRACT_TASK_GROUP_H

#include "contract.h"

#define UNITS_MAX 64

typedef struct {
  uint32_t count;
#ifdef CONTRACT_SHAPE_B1
  task_ans_t unit[UNITS_MAX];
#else
  task_ans_t counter;
#endif
} group_t;

static inline void group_init(group_t *group, uint32_t count)
{
  group->count = count;
#ifdef CONTRACT_SHAPE_B1
  memset(group->unit, 0, count * sizeof(group->unit[0]));
#else
  init_task_ans(&group->counter, count);
#endif
}

static inline task_ans_t *group_unit(group_t *group, uint32_t i)
{
#ifdef CONTRACT_SHAPE_B1
  return &group->unit[i];
#else
  (void)i;
  return &group->counter;
#endif
}

static inline void group_join(group_t *group)
{
#ifdef CONTRACT_SHAPE_B1
  join_task_ans(group->unit, group->count);
#else
  join_task_ans(&group->counter);
#endif
}

typedef struct {
  task_ans_t *ans;
  uint64_t in, out;
} work_t;

static inline void run_work(void *work_arg)
{
  work_t *work = work_arg;
  work->out = work->in * 7 + 1;
  completed_task_ans(work->ans);
}

static inline void push_work(tpool_t *pool, work_t *work, task_ans_t *ans, uint64_t in)
{
  *work = (work_t){.ans = ans, .in = in};
  pushTpool(pool, (task_t){.func = run_work, .args = work});
}

#endif
