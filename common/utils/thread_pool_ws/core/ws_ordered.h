// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ordered.h
/// The orders of tasks, named for a sanitizer in the program (base/ws_tsan.h).
#ifndef WS_ORDERED_H
#define WS_ORDERED_H

#include "../base/ws_tsan.h"
#include "../include/ws_pool.h"

static inline const void *ws_ordered_place(const ws_task_t *task)
{
  return ws_tsan_place((uintptr_t)task->func, (uintptr_t)task->arg, (uintptr_t)task->group);
}

/// Before tasks can run. [edge DEQ_PUBLISH]
static inline void ws_ordered_push(const ws_task_t *tasks, uint64_t count)
{
  if (ws_tsan_sees())
    for (uint64_t i = 0; i < count; i++)
      ws_tsan_release(ws_ordered_place(&tasks[i]));
}

/// Before the task's function, or what is called in its place. [edge DEQ_PUBLISH]
static inline void ws_ordered_begin(const ws_task_t *task)
{
  if (ws_tsan_sees())
    ws_tsan_acquire(ws_ordered_place(task));
}

/// After it. [edge POOL_IDLE] its group has an order of its own
static inline void ws_ordered_end(const struct ws_pool_s *pool)
{
  ws_tsan_release(pool);
}

#endif
