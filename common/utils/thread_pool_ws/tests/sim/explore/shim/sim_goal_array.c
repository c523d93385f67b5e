// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_goal_array.c
/// sim_goal.h in shape B1: an answer a task.
#include <stdlib.h>

#include "sim_goal.h"
#include "sim_heap.h"

void sim_goal_arm(sim_goal_t *goal)
{
  goal->answers = sim_heap_calloc(goal->tasks + 1, sizeof(task_ans_t));
}

void sim_goal_complete(sim_goal_t *goal, uint32_t task)
{
  completed_task_ans(&goal->answers[task]);
}

/// TAG: in two halves. EVENT: one answer is the pushing thread's.
void sim_goal_join(sim_goal_t *goal)
{
  const uint32_t half = goal->end == SIM_END_TAG ? goal->tasks / 2 : 0;
  if (goal->end == SIM_END_EVENT)
    completed_task_ans(&goal->answers[goal->tasks]);
  if (goal->end == SIM_END_TAG)
    join_task_ans(goal->answers, half);
  join_task_ans(goal->answers + half, goal->tasks - half + (goal->end == SIM_END_EVENT));
  sim_heap_free(goal->answers);
}
