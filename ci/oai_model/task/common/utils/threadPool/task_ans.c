// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans.c
/// task_ans.h
#include "task_ans.h"

void init_task_ans(task_ans_t *ans, unsigned int num_jobs)
{
  ans->counter = num_jobs;
  sem_init(&ans->sem, 0, 0);
}

void completed_many_task_ans(task_ans_t *ans, unsigned int num_completed_jobs)
{
  if (__atomic_sub_fetch(&ans->counter, num_completed_jobs, __ATOMIC_ACQ_REL) == 0)
    sem_post(&ans->sem);
}

void join_task_ans(task_ans_t *ans)
{
  while (sem_wait(&ans->sem) != 0) {
  }
  sem_destroy(&ans->sem);
}
