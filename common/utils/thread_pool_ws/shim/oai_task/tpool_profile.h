// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_profile.h
/// From OAI's task_t to the function and the argument that the pool runs. A fork's task_t has a third
/// member, the context of its profiler (WS_OAI_TASK_PROFILE: the hook has found that member in the tree's
/// task.h). While that profiler is on, the context of the pushing thread goes with the task.
#ifndef TPOOL_PROFILE_H
#define TPOOL_PROFILE_H

#include "common/utils/threadPool/task.h"

typedef struct {
  void (*func)(void *);
  void *arg;
} ws_tpool_call_t;

#ifdef WS_OAI_TASK_PROFILE
#include <stdlib.h>

/// Frees the copy of the task, before it runs, because it may run for long.
static inline void ws_tpool_run_profiled(void *copy)
{
  const task_t task = *(task_t *)copy;
  free(copy);
  const oai_profile_context_t before = oai_profiler_enter_work(task.profile_work);
  task.func(task.args);
  oai_profiler_leave_work(before);
}

/// @return the pool's task for @p task. Allocates while the tree's profiler is on, and never
/// otherwise; without memory the task runs without its context
static inline ws_tpool_call_t ws_tpool_call(const task_t *task)
{
  task_t *copy = oai_profiler_is_enabled() ? malloc(sizeof(*copy)) : NULL;
  if (!copy)
    return (ws_tpool_call_t){task->func, task->args};
  *copy = *task;
  copy->profile_work = oai_profiler_capture_work(oai_profiler_get_context().absolute_slot);
  return (ws_tpool_call_t){ws_tpool_run_profiled, copy};
}
#else
/// @return the pool's task for @p task
static inline ws_tpool_call_t ws_tpool_call(const task_t *task)
{
  return (ws_tpool_call_t){task->func, task->args};
}
#endif

#endif
