// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.h
/// Life of a task, step 2: the queue of one thread. It is an array of deques. Only files of tasks/ depend on
/// how its tasks are stored. Before: ws_push.c; after: ws_wake.h.
///
/// Roles   The owner pushes, takes the newest task, or takes the oldest as a thief does. Any other thread
///         steals the oldest. ws_deque.h says which operations may meet.
/// Deques  2 * kind holds the tasks of a kind, 2 * kind + 1 those that a wait has put aside. The first two
///         are part of the queue. The others are made when the owner pushes its first task of another kind
///         than WS_KIND_NORMAL, so that programs without such tasks pay nothing.
#ifndef WS_QUEUE_H
#define WS_QUEUE_H

#include "ws_group_word.h"
#include "ws_grouped.h"
#include "ws_kind.h"
#include "ws_summary.h"
#include "ws_tasks.h"

struct ws_more_s {
  uint32_t count; ///< I deques
  size_t bytes; ///< I of this mapping, cells included
  ws_deque_t deque[]; ///< from the queue's third deque on
};

#define WS_DEQUES_FIRST 2u ///< deques that every queue has

/// @return the deques beyond the first two, NULL = there are none
static inline ws_more_t *ws_queue_more(const ws_queue_t *queue)
{
  return ws_load_acquire(&queue->more); // [edge KIND_QUEUES acquire] their fields
}

/// @return number of the queue's deques
static inline uint32_t ws_queue_deques(const ws_queue_t *queue)
{
  const ws_more_t *more = ws_queue_more(queue);
  return WS_DEQUES_FIRST + (more ? more->count : 0);
}

/// @return one of the queue's deques. @param i  below ws_queue_deques()
static inline ws_deque_t *ws_queue_deque(const ws_queue_t *queue, uint32_t i)
{
  ws_queue_t *its = (ws_queue_t *)(uintptr_t)queue;
  return i == 0 ? &its->deque : i == 1 ? &its->aside : &ws_queue_more(queue)->deque[i - WS_DEQUES_FIRST];
}

static inline ws_kind_t ws_kind_of_deque(uint32_t i)
{
  return i / 2;
}

static inline bool ws_is_aside(uint32_t i)
{
  return i % 2 == 1;
}

// Owner, normal tasks.

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

// Owner, all kinds.

/// @brief Make all deques now. @return false = there is no memory
/// @threads  the owner, or the creator before it has begun
bool ws_queue_reserve(ws_tasks_t *tasks, ws_queue_t *queue);

/// @brief Room for one more task of @p kind. @param grow  make room if there is none: double the capacity,
/// waiting up to 1 ms while pages are being given back
/// @return NULL = the deque is full, or there is no memory
ws_deque_t *ws_queue_room(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, bool grow);

/// @brief Push a task into the deque that ws_queue_room() gave.
void ws_queue_push_kind(ws_tasks_t *tasks, ws_deque_t *deque, ws_kind_t kind, const ws_task_t *task);

/// @brief Take the newest task of any deque.
bool ws_queue_take_any(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task);

/// @brief Take all tasks of all deques for which @p takes returns true, outside any wait of the owner.
/// The others keep their order. No thread can see them for a moment (ws_fill_place). @return how many
uint64_t ws_queue_sift(ws_tasks_t *tasks, ws_queue_t *queue, bool (*takes)(const ws_task_t *task, void *arg),
                       void *arg);

/// @return whether some deque may have grown. The aside deque of normal tasks does not count: the wait that
/// put many tasks aside is seldom the last one that does
static inline bool ws_queue_may_shrink(const ws_queue_t *queue)
{
  return queue->deque.level > 0 || ws_queue_more(queue);
}

/// @brief Return to the first capacities where a deque is empty: then there are pages to give back.
void ws_queue_shrink(ws_tasks_t *tasks, ws_queue_t *queue);

/// @brief First touch of its memory, on the caller's node.
void ws_queue_touch(ws_queue_t *queue);

// Any thread, normal tasks.

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

// Any thread, all kinds.

/// @brief Steal the oldest task of deque @p i.
bool ws_queue_steal_at(ws_tasks_t *tasks, ws_queue_t *queue, uint32_t i, ws_task_t *task);

/// @brief Steal the oldest task of @p kind, those that were put aside first. Normal tasks that were put aside
/// are found by ws_places_steal_aside().
bool ws_queue_steal_kind(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, ws_task_t *task);

/// @brief Take a task of @p kind, which is not WS_KIND_NORMAL: from the caller's own queue, or steal one.
/// @param victim  out: index of the queue from which it was stolen, -1 = the caller's own
bool ws_queue_take_kind(ws_tasks_t *tasks, ws_queue_t *own, ws_kind_t kind, ws_task_t *task, int32_t *victim);

/// @return whether the queue's root is @p group (ws_root.h), about. @param weak  or a weak tag of it
static inline bool ws_queue_is_below(const ws_queue_t *queue, const ws_group_t *group, bool weak)
{
  return ws_group_is(ws_load_relaxed(&queue->root), group, weak); // relaxed: ws_queue_steal_under decides
}

/// @brief Steal a task of any kind that was not put aside while the queue's root is @p group.
/// @param weak  or a weak tag of it
bool ws_queue_steal_under(ws_tasks_t *tasks, ws_queue_t *queue, const ws_group_t *group, bool weak,
                          ws_task_t *task);

/// @return whether tasks of other kinds than WS_KIND_NORMAL are queued, but those aside
bool ws_queue_holds_kinds(const ws_queue_t *queue);

/// @brief Give the pages that it does not use any more back to the kernel.
void ws_queue_trim(ws_queue_t *queue);

/// @return a number that grows when a task of the queue is begun or finished
uint64_t ws_queue_steps(const ws_queue_t *queue);

// Set up, and count.

/// @param cells  capacity zeroed cells, capacity a power of two; stay the caller's
void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity);

/// @brief As ws_queue_init(), of a worker, whose waits put tasks aside.
void ws_queue_init_worker(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity, ws_cell_t *aside_cells,
                          uint64_t aside_capacity);

/// @brief Unmap the memory by which the queue has grown. @threads  one, when no other uses the pool any more
void ws_queue_free(ws_queue_t *queue);

/// @return bytes beyond the first capacity
uint64_t ws_queue_grown_bytes(const ws_queue_t *queue);

/// @return most tasks that one of its deques has held, to within an eighth
uint64_t ws_queue_high_water(const ws_queue_t *queue);

#endif
