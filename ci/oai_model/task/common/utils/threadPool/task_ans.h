// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans.h
/// The model's own join counter: the last completion posts.
#ifndef TASK_ANSWER_THREAD_POOL_H
#define TASK_ANSWER_THREAD_POOL_H

#include <semaphore.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
  sem_t sem;
  unsigned int counter;
} task_ans_t;

#ifdef __cplusplus
extern "C" {
#endif
void init_task_ans(task_ans_t *ans, unsigned int num_jobs);
void join_task_ans(task_ans_t *ans);
void completed_many_task_ans(task_ans_t *ans, unsigned int num_completed_jobs);
static inline void completed_task_ans(task_ans_t *ans)
{
  completed_many_task_ans(ans, 1);
}
#ifdef __cplusplus
}
#endif

#endif
