// SPDX-License-Identifier: BSD-3-Clause
/// @file group.h
/// A burst's join in shape B1: one answer a task, zeroed by the caller.
#ifndef GROUP_H
#define GROUP_H

#include <string.h>

#include "common/utils/threadPool/task_ans.h"

typedef struct {
  task_ans_t answer[64];
} group_t;

static inline void group_begin(group_t *group, uint32_t count)
{
  memset(group->answer, 0, count * sizeof(group->answer[0]));
}

static inline task_ans_t *group_answer(group_t *group, uint32_t i)
{
  return &group->answer[i];
}

static inline void group_skip(group_t *group, uint32_t first, uint32_t count)
{
  for (uint32_t i = first; i < first + count; i++)
    completed_task_ans(&group->answer[i]);
}

static inline void group_join(group_t *group, uint32_t count)
{
  join_task_ans(group->answer, count);
}

#endif
