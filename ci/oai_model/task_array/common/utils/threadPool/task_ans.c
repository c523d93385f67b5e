// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans.c
/// task_ans.h
#include "task_ans.h"

#include <sched.h>

void completed_task_ans(task_ans_t *task)
{
  __atomic_store_n(&task->status, 1, __ATOMIC_RELEASE);
}

void join_task_ans(task_ans_t *arr, size_t len)
{
  for (size_t i = 0; i < len; i++)
    while (!__atomic_load_n(&arr[i].status, __ATOMIC_ACQUIRE))
      sched_yield();
}
