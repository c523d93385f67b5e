// SPDX-License-Identifier: BSD-3-Clause
/// @file task.h
/// Stand-in for the host's task: a function and its argument, passed by value.
#ifndef TASK_WORK_STEALING_THREAD_POOL_H
#define TASK_WORK_STEALING_THREAD_POOL_H

typedef struct {
  void *args;
  void (*func)(void *args);
} task_t;

#endif
