// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_goal_counter.c
/// sim_goal.h in shape B2: one answer, which counts.
#include <stdlib.h>

#include "sim_goal.h"
#include "sim_heap.h"

#define PADDING 3u ///< completions by the thread that pushes

static task_ans_t *new_answer(uint32_t jobs)
{
  task_ans_t *answer = sim_heap_memalign(LEVEL1_DCACHE_LINESIZE, sizeof(*answer));
  init_task_ans(answer, jobs);
  return answer;
}

void sim_goal_arm(sim_goal_t *goal)
{
  goal->answers = new_answer(goal->tasks + (goal->end == SIM_END_EVENT ? PADDING : 0));
  if (goal->end == SIM_END_POOL)
    goal->other = new_answer(1);
}

void sim_goal_complete(sim_goal_t *goal, uint32_t task)
{
  (void)task;
  if (goal->end != SIM_END_TAG)
    completed_task_ans(goal->answers);
  else if (__atomic_fetch_sub(&goal->left, 1, __ATOMIC_ACQ_REL) == 1)
    completed_many_task_ans(goal->answers, goal->tasks);
}

/// An answer of no jobs, and one that was zeroed and never armed, are joined at once.
static void join_trivial(void)
{
  task_ans_t *answer = sim_heap_calloc(1, sizeof(*answer));
  join_task_ans(answer);
  init_task_ans(answer, 0);
  join_task_ans(answer);
  sim_heap_free(answer);
}

void sim_goal_join(sim_goal_t *goal)
{
  if (goal->end == SIM_END_EVENT)
    completed_many_task_ans(goal->answers, PADDING);
  if (goal->id % 16 == 0)
    join_trivial();
  join_task_ans(goal->answers);
  sim_heap_free(goal->answers);
  if (!goal->other)
    return;
  completed_task_ans(goal->other);
  join_task_ans(goal->other);
  sim_heap_free(goal->other);
}
