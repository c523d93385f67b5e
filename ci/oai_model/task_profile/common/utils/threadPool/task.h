// SPDX-License-Identifier: BSD-3-Clause
/// @file task.h
/// A fork's task: it has a third member, which the pool fills and acts on.
#ifndef TASK_WORK_STEALING_THREAD_POOL_H
#define TASK_WORK_STEALING_THREAD_POOL_H

#include "common/utils/oai_profiler.h"

typedef struct {
  void* args;
  void (*func)(void* args); /* as ever */
  oai_profile_work_t profile_work; // of the thread that pushes
} task_t;

#endif
