// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.h
/// Life of a task, step 2: the queue of one thread, a deque. Only files of tasks/ depend on how its tasks are
/// stored. Before: ws_push.c; after: ws_wake.h.
///
/// Roles   The owner pushes, takes the newest task, or takes the oldest as a thief does. Any other thread
///         steals the oldest. ws_deque.h says which operations may meet.
#ifndef WS_QUEUE_H
#define WS_QUEUE_H

#include "ws_group_word.h"
#include "ws_grouped.h"
#include "ws_summary.h"
#include "ws_tasks.h"

// The owner.

/// @return whether @p count more tasks fit
static inline bool ws_queue_has_room(ws_queue_t *queue, uint64_t count)
{
  return ws_deque_has_room(&queue->deque, count);
}

/// @brief Push @p count tasks; the caller has seen room for them.
static inline void ws_queue_push(ws_queue_t *queue, const ws_task_t *tasks, uint64_t count)
{
  ws_summary_note(queue);
  ws_deque_push(&queue->deque, tasks, count);
}

/// @brief Take the newest task.
static inline bool ws_queue_take(ws_queue_t *queue, ws_task_t *task)
{
  return ws_deque_take(&queue->deque, task);
}

/// @brief Take the oldest task, if it has the function @p func.
static inline bool ws_queue_take_oldest_of(ws_queue_t *queue, void (*func)(void *arg), ws_task_t *task)
{
  return ws_deque_take_oldest_of(&queue->deque, func, task);
}

/// @return the function of the newest task, whether it still waits or not; call after a push
static inline void (*ws_queue_newest_func(const ws_queue_t *queue))(void *arg)
{
  return ws_deque_newest_func(&queue->deque);
}

/// @brief Room for one more task. @param grow  make room if there is none: double the capacity, waiting up to
/// 1 ms while pages are being given back. @return false = it is full, or there is no memory
bool ws_queue_room(ws_queue_t *queue, bool grow);

/// @brief Take all tasks for which @p takes returns true, outside any wait of the owner. The others keep
/// their order. No thread can see them for a moment (ws_fill_place). @return how many
static inline uint64_t ws_queue_sift(ws_queue_t *queue, ws_takes_t *takes, void *arg)
{
  return ws_deque_size(&queue->deque) > 0 ? ws_grouped_sift(&queue->deque, takes, arg) : 0;
}

/// @return whether it has grown
static inline bool ws_queue_may_shrink(const ws_queue_t *queue)
{
  return queue->deque.level > 0;
}

/// @brief Return to the first capacity if it is empty: then there are pages to give back.
void ws_queue_shrink(ws_tasks_t *tasks, ws_queue_t *queue);

// Any thread.

/// @return tasks, approximately: exact for the owner while no thread steals
static inline uint64_t ws_queue_size(const ws_queue_t *queue)
{
  return ws_deque_size(&queue->deque);
}

/// @brief Take the oldest task, as a thief does.
bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task);

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

/// @brief Steal the oldest task, however often other threads are quicker. @return false = the queue is empty
static inline bool ws_queue_steal_one(ws_queue_t *queue, ws_steal_memo_t *memo, ws_task_t *task)
{
  return ws_deque_steal_one(&queue->deque, memo, task);
}

/// @brief The caller will steal up to @p count tasks (ws_deque.h).
static inline void ws_queue_prefetch(const ws_queue_t *queue, uint32_t count)
{
  ws_deque_prefetch(&queue->deque, count);
}

/// @return whether the queue's root is @p group (ws_root.h), about. @param weak  or a weak tag of it
static inline bool ws_queue_is_below(const ws_queue_t *queue, const ws_group_t *group, bool weak)
{
  return ws_group_is(ws_load_relaxed(&queue->root), group, weak); // relaxed: ws_queue_steal_under decides
}

/// @brief Steal the oldest task while the queue's root is @p group. @param weak  or a weak tag of it
static inline bool ws_queue_steal_under(ws_queue_t *queue, const ws_group_t *group, bool weak,
                                        ws_task_t *task)
{
  return ws_grouped_steal_under(&queue->deque, &queue->root, group, weak, task);
}

/// @return a number that grows when a task of the queue is begun or finished
uint64_t ws_queue_steps(const ws_queue_t *queue);

// Set up, and count.

/// @param cells  capacity zeroed cells, capacity a power of two; stay the caller's
void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity);

#endif
