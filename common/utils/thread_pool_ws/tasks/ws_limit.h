// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_limit.h
/// Life of a task, step 2 for a function of which few tasks run at once (settings.rule): its tasks wait in a
/// line of their own, oldest first. A search takes the oldest while fewer than the limit run.
///
/// Roles      Any thread pushes, any thread takes. A thread that waits for a group takes the group's tasks
///            from the middle, above the limit.
/// Ticket     A task that a search has taken carries the number of its limit in the high bits of its
///            priority, until it has run. Its end gives the place back.
/// Invariant  Under the lock: open = min(waiting, places), with places = max - running, or 0.
/// Wake       A push, and the end of a task, that leave open > 0 wake a worker as any push does
///            [PARK_DEKKER]: open is what they publish. A put and an end cannot miss each other, because both
///            hold the lock. Model: Limit.pml.
/// Lock       Held for a copy of one task; longer while the line grows. It inherits priorities. A child of
///            fork does not take it: it refuses pushes to the pools of its parent.
#ifndef WS_LIMIT_H
#define WS_LIMIT_H

#include "ws_tasks.h"

/// Where a task's priority has the number of its limit, from 1.
#define WS_TICKET_SHIFT 8u

/// @return 0 = the task holds no place of a limit; i + 1 = of limit i
static inline uint32_t ws_ticket_of(const ws_task_t *task)
{
  return (uint32_t)task->priority >> WS_TICKET_SHIFT;
}

/// @return the task as it was pushed
static inline ws_task_t ws_ticket_off(const ws_task_t *task)
{
  ws_task_t plain = *task;
  plain.priority = (ws_priority_t)((uint32_t)task->priority & ((1u << WS_TICKET_SHIFT) - 1));
  return plain;
}

/// @brief Make @p count lines, with room for @p capacity tasks each. @return false = no memory
bool ws_limits_make(ws_tasks_t *tasks, uint32_t count, uint32_t capacity);
void ws_limits_free(ws_tasks_t *tasks);

/// @brief Append a task. @param grow  the line may grow. @return false = it is full
bool ws_limit_put(ws_limit_t *limit, const ws_task_t *task, uint64_t now_ns, bool grow);

/// @brief Take the oldest task of limit @p index, with its ticket. @return false = none may begin now
bool ws_limit_take(ws_tasks_t *tasks, uint32_t index, ws_task_t *task);

/// @brief The same of any limit, the next in turn first.
bool ws_limits_take(ws_tasks_t *tasks, ws_task_t *task);

/// @brief Take the oldest task that carries @p group, above the limit: it gets no ticket.
/// @param weak  or one with a weak tag of the group
bool ws_limits_take_of(ws_tasks_t *tasks, const ws_group_t *group, bool weak, ws_task_t *task);

/// @brief Take one task for which @p takes returns true, without a ticket. @p takes is called under the lock
bool ws_limits_sift(ws_tasks_t *tasks, bool (*takes)(const ws_task_t *task, void *arg), void *arg,
                    ws_task_t *task);

/// @brief A task with a ticket has ended. @return whether a task of the line may begin now: the caller must
/// wake a worker after a fence
bool ws_limit_end(ws_limit_t *limit);

/// @return whether a task of a line may begin. After a seq_cst fence, to decide about sleep
static inline bool ws_limits_visible(const ws_tasks_t *tasks)
{
  for (uint32_t i = 0; i < tasks->limits; i++)
    if (ws_load_relaxed(&tasks->limit[i].open) > 0) // relaxed: ordered by the caller's fence [PARK_DEKKER]
      return true;
  return false;
}

/// @return tasks of the lines that may not begin now, about
static inline uint64_t ws_limits_held(const ws_tasks_t *tasks)
{
  uint64_t held = 0;
  for (uint32_t i = 0; i < tasks->limits; i++) {
    const uint32_t open = ws_hint_load(&tasks->limit[i].open);
    const uint32_t waiting = ws_hint_load(&tasks->limit[i].waiting);
    held += waiting > open ? waiting - open : 0;
  }
  return held;
}

/// @return tasks of the lines, about
static inline uint64_t ws_limits_waiting(const ws_tasks_t *tasks)
{
  uint64_t waiting = 0;
  for (uint32_t i = 0; i < tasks->limits; i++)
    waiting += ws_hint_load(&tasks->limit[i].waiting);
  return waiting;
}

/// @return how long the oldest task of the line has waited, about; 0 if there is none, or none may begin
static inline uint64_t ws_limit_waited_ns(const ws_limit_t *limit, uint64_t now_ns)
{
  const uint64_t since_ns = ws_hint_load(&limit->since_ns);
  const bool open = since_ns != 0 && ws_hint_load(&limit->open) > 0;
  return open && (int64_t)(now_ns - since_ns) > 0 ? now_ns - since_ns : 0;
}

#endif
