// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_priority.h
/// Tasks of high and of low priority: each thread that pushes such tasks has two more queues, made at its
/// first such push. Normal tasks stay where they are, and cost nothing more. pool->prioritized says whether
/// the pool has any of these queues.
///
/// Roles    As in ws_queue.h: the owner pushes, any thread takes. Which priority is looked at first is the
///          policy of ws_find.c; what waited too long goes first (ws_age.h).
/// Count    pool->others_queued is raised before a task is pushed and lowered after it was taken: if it is 0,
///          no queue of that priority holds a task. It only saves looks. Whether a worker may sleep is
///          decided by the queues themselves.
#ifndef WS_PRIORITY_H
#define WS_PRIORITY_H

#include "ws_types.h"

struct ws_priority_queues_s {
  ws_deque_t deque[WS_OTHER_PRIORITIES]; ///< [priority - 1]
  size_t bytes; ///< I of this mapping, cells included
};

/// @return the queues of a thread's other priorities, NULL = it has none
static inline ws_priority_queues_t *ws_priority_queues(const ws_queue_t *queue)
{
  return ws_load_acquire(&queue->others); // [edge PRIORITY_QUEUES acquire] their fields
}

// Owner.

/// @brief Room for one more task of @p priority, which is not normal. @param grow  make room if there is none
/// @return NULL = the queue is full, or there is no memory
ws_deque_t *ws_priority_room(struct ws_pool_s *pool, ws_queue_t *queue, ws_priority_t priority, bool grow);

/// @brief Push a task into the queue that ws_priority_room() gave.
void ws_priority_push(struct ws_pool_s *pool, ws_deque_t *deque, const ws_task_t *task, uint64_t now_ns);

/// @brief Begin a wait's mark: tasks that are pushed from now on are the wait's.
void ws_priority_mark(const ws_queue_t *queue, ws_mark_t *mark);

/// @brief Take a task of @p priority that a wait for @p group may run: one of the group, at any depth, or one
/// that was pushed since the wait's mark. @param weak  or one with a weak tag of the group
bool ws_priority_take_of(struct ws_pool_s *pool, ws_queue_t *queue, ws_priority_t priority,
                         const ws_group_t *group, bool weak, ws_task_t *task);

/// @brief Take the newest task of any priority but normal.
bool ws_priority_take_any(struct ws_pool_s *pool, ws_queue_t *queue, ws_task_t *task);

/// @brief As ws_queue_shrink.
bool ws_priority_shrink(ws_queue_t *queue);

// Any thread.

/// @brief Take a task of @p priority: from the caller's own queue, or steal one.
/// @param victim  out: index of the queue from which it was stolen, -1 = the caller's own
bool ws_priority_take(struct ws_pool_s *pool, ws_here_t here, ws_priority_t priority, ws_task_t *task,
                      int32_t *victim);

/// @brief Steal the oldest task of @p priority from one queue.
bool ws_priority_steal(struct ws_pool_s *pool, ws_queue_t *queue, ws_priority_t priority, ws_task_t *task);

/// @return how long that task has waited, about; 0 if there is none
uint64_t ws_priority_waited_ns(const ws_queue_t *queue, ws_priority_t priority, uint64_t now_ns);

/// @return tasks in these queues of all threads, about
uint64_t ws_priority_queued(struct ws_pool_s *pool);

/// @brief As ws_queue_trim.
bool ws_priority_trim(ws_queue_t *queue, bool now);

/// @return as ws_queue_steps, ws_queue_grown_bytes
uint64_t ws_priority_steps(const ws_queue_t *queue);
uint64_t ws_priority_bytes(const ws_queue_t *queue);

/// @brief Unmap the queues. @threads  one, when no other uses the pool any more
void ws_priority_free(ws_queue_t *queue);

#endif
