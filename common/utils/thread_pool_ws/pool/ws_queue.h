// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.h
/// Life of a task, step 2: the queue of one thread, and the tasks that a join has moved out of its way. Only
/// this file and queue/ depend on how tasks are stored. Before: ws_push.c; after: ws_find.c.
///
/// Roles  The owner pushes, takes the newest task, or takes the oldest as a thief does. Any other thread
///        steals the oldest. ws_deque.h says which operations may meet.
#ifndef WS_QUEUE_H
#define WS_QUEUE_H

#include "ws_group_word.h"
#include "ws_grouped.h"
#include "ws_types.h"

// Owner.

/// @return whether @p count more tasks fit
static inline bool ws_queue_has_room(ws_queue_t *queue, uint64_t count)
{
  return ws_deque_has_room(&queue->deque, count);
}

/// @brief Push @p count tasks; the caller has seen room for them.
static inline void ws_queue_push(ws_queue_t *queue, const ws_task_t *tasks, uint64_t count)
{
  ws_deque_push(&queue->deque, tasks, count);
}

/// @brief Take the newest task.
static inline bool ws_queue_take(ws_queue_t *queue, ws_task_t *task)
{
  return ws_deque_take(&queue->deque, task);
}

/// @brief Take the oldest task, as a thief does.
bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task);

/// @brief Take the oldest task, if it has the function @p func.
static inline bool ws_queue_take_oldest_of(ws_queue_t *queue, void (*func)(void *arg), ws_task_t *task)
{
  return ws_deque_take_oldest_of(&queue->deque, func, task);
}

/// @return index of the next task that will be pushed: where a wait's mark begins (ws_dig.h)
static inline uint64_t ws_queue_end(const ws_queue_t *queue)
{
  return ws_load_relaxed(&queue->deque.bottom); // relaxed: only the owner writes it
}

/// @brief Take the newest task, or else the oldest, if it carries @p group. @param weak  or a weak tag of it
bool ws_queue_take_of(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task);

/// @return whether a task of @p group is queued, at any depth
bool ws_queue_holds(const ws_queue_t *queue, const ws_group_t *group, bool weak);

/// @brief Take the newest task of @p group from under others, at most @p depth_max of them. Those go back in
/// their order, and the marks of the owner's waits move along.
bool ws_queue_take_under(ws_queue_t *queue, const ws_group_t *group, bool weak, uint32_t depth_max,
                         ws_task_t *task);

/// @brief Take the oldest task if the owner's wait may run it, as ws_grouped_take_oldest().
static inline ws_took_t ws_queue_take_oldest_for(ws_queue_t *queue, const ws_allowed_t *allowed, bool others,
                                                 ws_task_t *task)
{
  return ws_grouped_take_oldest(&queue->deque, allowed, others, task);
}

/// @brief As ws_grouped_take_turn(). The marks of the owner's waits move along.
bool ws_queue_take_turn(ws_queue_t *queue, const ws_allowed_t *allowed, bool down, uint32_t depth_max,
                        ws_task_t *task);

/// @brief Take all tasks of all its queues for which @p takes returns true, outside any wait of the owner.
/// The others keep their order. No thread can see them for a moment (ws_fill_place). @return how many
uint64_t ws_queue_sift(struct ws_pool_s *pool, ws_queue_t *queue,
                       bool (*takes)(const ws_task_t *task, void *arg), void *arg);

/// @brief Double the capacity; waits up to 1 ms while pages are being given back.
/// @return false when there is no memory, or those pages are not back yet
bool ws_queue_grow(ws_queue_t *queue);

/// @brief Return to the first capacity if the queue is empty.
/// @return whether there are pages to give back now
bool ws_queue_shrink(ws_queue_t *queue);

/// @brief First touch of its memory, on the caller's node.
void ws_queue_touch(ws_queue_t *queue);

// Any thread.

/// @return tasks in the queue, approximately: exact for the owner while no thread steals
static inline uint64_t ws_queue_size(const ws_queue_t *queue)
{
  return ws_deque_size(&queue->deque);
}

/// @return whether the thief knows of a task there without looking at the owner's line
static inline bool ws_queue_is_known(const ws_steal_memo_t *memo, const ws_queue_t *queue)
{
  return ws_memo_holds(memo, &queue->deque);
}

/// @return whether the memo is of this queue
static inline bool ws_queue_is_remembered(const ws_steal_memo_t *memo, const ws_queue_t *queue)
{
  return memo->deque == &queue->deque;
}

/// @brief Steal the oldest task.
static inline ws_steal_t ws_queue_steal(ws_queue_t *queue, ws_steal_memo_t *memo, ws_task_t *task)
{
  return ws_deque_steal(&queue->deque, memo, task);
}

/// @return whether the queue's root is @p group (ws_root.h), about. @param weak  or a weak tag of it
static inline bool ws_queue_is_below(const ws_queue_t *queue, const ws_group_t *group, bool weak)
{
  return ws_group_is(ws_load_relaxed(&queue->root), group, weak); // relaxed: ws_queue_steal_under decides
}

/// @brief Steal the oldest task while the queue's root is @p group. @param weak  or a weak tag of it
bool ws_queue_steal_under(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task);

/// @return whether it has pages to give back to the kernel. @param now  give them back
bool ws_queue_trim(ws_queue_t *queue, bool now);

/// @return how long the oldest task has waited, about; 0 if there is none. For pools that use priorities
uint64_t ws_queue_waited_ns(const ws_queue_t *queue, uint64_t now_ns);

/// @brief Note the time of the next push, and of the @p next ones after it. @threads  owner
static inline void ws_queue_stamp(ws_queue_t *queue, uint64_t next, uint64_t now_ns)
{
  ws_deque_stamp(&queue->deque, next, now_ns);
}

/// @return a number that grows when a task of the queue is begun or finished
uint64_t ws_queue_steps(const ws_queue_t *queue);

// Tasks that a worker's join has put aside (glossary). The worker puts, any thread steals.

/// @return false = there is no memory
bool ws_aside_put(ws_worker_t *worker, const ws_task_t *task);

/// @brief Steal the oldest of them.
bool ws_aside_steal(ws_worker_t *worker, ws_task_t *task);

/// @brief As ws_queue_shrink. @threads  the worker
void ws_aside_shrink(ws_worker_t *worker);

/// @brief As ws_queue_trim.
bool ws_aside_trim(ws_worker_t *worker, bool now);

uint64_t ws_aside_waited_ns(const ws_worker_t *worker, uint64_t now_ns);

static inline uint64_t ws_aside_size(const ws_worker_t *worker)
{
  return ws_deque_size(&worker->aside);
}

// Set up, and count.

/// @param cells  capacity zeroed cells, capacity a power of two; stays the caller's
void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity);
void ws_aside_init(ws_worker_t *worker, ws_cell_t *cells, uint64_t capacity);

/// @brief Unmap the memory by which the queue has grown.
void ws_queue_free(ws_queue_t *queue);
void ws_aside_free(ws_worker_t *worker);

/// @return bytes beyond the first capacity; most tasks held by one of its queues, to within an eighth
uint64_t ws_queue_grown_bytes(const ws_queue_t *queue);
uint64_t ws_aside_grown_bytes(const ws_worker_t *worker);
uint64_t ws_queue_high_water(const ws_queue_t *queue);

#endif
