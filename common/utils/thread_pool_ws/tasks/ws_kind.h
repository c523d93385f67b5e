// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind.h
/// Whether searches have to look for tasks of other kinds than WS_KIND_NORMAL: of high priority, of low
/// priority, or for a NUMA node. Which kind is looked at first is the policy of ws_find.c.
///
/// Count    tasks->queued is raised before a task is pushed and lowered after it was taken. If it is 0, no
///          queue holds a task of that kind. It only saves looks: the queues themselves decide whether a
///          worker may sleep.
/// Used     While tasks->kinds_used is set, searches look for tasks of a kind. A push sets it; a fairness
///          tick (ws_find.h) clears it if none is queued. So a pool that has used a priority once goes back
///          to its usual path.
///          RESTING --push of a kind--> USED --a tick finds none queued: ws_kind_rest--> RESTING
///          Legal: USED though none is queued; RESTING for a moment though one is queued, while the thread
///          that rests looks once more. Illegal: RESTING for longer, or a worker that sleeps because of it.
/// @threads any, for all functions
#ifndef WS_KIND_H
#define WS_KIND_H

#include "ws_tasks.h"

static inline bool ws_kind_has_node(ws_kind_t kind)
{
  return kind >= WS_KIND_NODE;
}

/// @return not 0 if searches look for tasks of a kind
static inline uint32_t ws_kind_is_used(const ws_tasks_t *tasks)
{
  return ws_hint_load(&tasks->kinds_used); // ws_park looks at the queues after a fence
}

/// @brief The caller is about to push a task of @p kind, which is not WS_KIND_NORMAL.
void ws_kind_count_push(ws_tasks_t *tasks, ws_kind_t kind);

/// @brief The caller has taken a task of @p kind: count it, and give it its priority back.
static inline void ws_kind_count_take(ws_tasks_t *tasks, ws_kind_t kind, ws_task_t *task)
{
  if (kind == WS_KIND_NORMAL)
    return;
  task->priority = kind == WS_KIND_HIGH  ? WS_PRIORITY_HIGH
                   : kind == WS_KIND_LOW ? WS_PRIORITY_LOW
                                         : WS_PRIORITY_NORMAL;
  ws_hint_sub(&tasks->queued[kind], 1);
}

/// @brief Have searches look for tasks of a kind from now on.
void ws_kind_use(ws_tasks_t *tasks);

/// @brief The caller searches for a task. If no task of a kind is queued, searches do not look for them any
/// more.
void ws_kind_rest(ws_tasks_t *tasks);

#endif
