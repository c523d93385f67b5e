// SPDX-License-Identifier: BSD-3-Clause
/// @file group.h
/// A burst's join in shape B2: one counter for all its tasks. task_array/ has the same for shape B1.
#ifndef GROUP_H
#define GROUP_H

#include "common/utils/threadPool/task_ans.h"

typedef struct {
  task_ans_t ans;
} group_t;

static inline void group_begin(group_t *group, uint32_t count)
{
  init_task_ans(&group->ans, count);
}

static inline task_ans_t *group_answer(group_t *group, uint32_t i)
{
  (void)i;
  return &group->ans;
}

/// Tasks first .. first + count - 1 need not be pushed: they are done.
static inline void group_skip(group_t *group, uint32_t first, uint32_t count)
{
  (void)first;
  completed_many_task_ans(&group->ans, count);
}

static inline void group_join(group_t *group, uint32_t count)
{
  (void)count;
  join_task_ans(&group->ans);
}

#endif
