// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_ordered.h
/// The orders of tasks, named for a sanitizer in the program (base/ws_tsan.h). In a pool that names orders
/// (pool->named) each push takes the way of a kind, and each run that of an aborted pool: the short ways
/// hold no call of these.
#ifndef WS_ORDERED_H
#define WS_ORDERED_H

#include "../base/ws_tsan.h"
#include "../pool/ws_types.h"

static inline const void *ws_ordered_place(const ws_task_t *task)
{
  return ws_tsan_place((uintptr_t)task->func, (uintptr_t)task->arg, (uintptr_t)task->group);
}

/// Before the task can run. [edge DEQ_PUBLISH]
static inline void ws_ordered_push(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (WS_UNLIKELY(pool->named))
    ws_tsan_release(ws_ordered_place(task));
}

/// Before the task's function, or what is called in its place. [edge DEQ_PUBLISH]
static inline void ws_ordered_begin(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (WS_UNLIKELY(pool->named))
    ws_tsan_acquire(ws_ordered_place(task));
}

/// After it. [edge POOL_IDLE] its group has an order of its own
static inline void ws_ordered_end(const struct ws_pool_s *pool)
{
  if (WS_UNLIKELY(pool->named))
    ws_tsan_release(pool);
}

#endif
