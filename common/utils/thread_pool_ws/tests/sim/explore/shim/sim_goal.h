// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_goal.h
/// What a burst's tasks answer to in the shapes B. Each shape has functions of its own.
#ifndef SIM_GOAL_H
#define SIM_GOAL_H

#include "common/utils/threadPool/task_ans.h"
#include "sim_record.h"

/// How tasks complete their answer (sim_burst_t.end, outermost tasks only):
/// GROUP each completes one; TAG the last one that runs completes all of them; EVENT the thread that pushes
/// completes some, too; POOL the thread arms another answer in between; NOTHING there is no join.
typedef struct {
  uint32_t id;
  sim_end_t end;
  uint32_t tasks, left;
  uint32_t first; ///< record
  task_ans_t *answers; ///< NULL = tasks without an answer
  task_ans_t *other; ///< POOL
} sim_goal_t;

void sim_goal_arm(sim_goal_t *goal);
/// @brief A task of the goal has run. Its memory may be gone after that.
void sim_goal_complete(sim_goal_t *goal, uint32_t task);
/// @brief After the last push: complete what the pushing thread does itself, and join.
void sim_goal_join(sim_goal_t *goal);

#endif
