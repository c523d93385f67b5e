// SPDX-License-Identifier: BSD-3-Clause
/// @file task_ans.h
/// The model's own answers in shape B1: a flag a task.
#ifndef TASK_ANSWER_THREAD_POOL_H
#define TASK_ANSWER_THREAD_POOL_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  int status;
} task_ans_t;

#ifdef __cplusplus
extern "C" {
#endif
void join_task_ans(task_ans_t *arr, size_t len);
void completed_task_ans(task_ans_t *task);
#ifdef __cplusplus
}
#endif

#endif
