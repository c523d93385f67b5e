// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.h
/// Life of a task, step 2: the queue of one thread, which is a deque (ws_deque.h) and what belongs to its
/// owner (ws_tasks.h). Before: ws_push.c; after: ws_wake.h.
#ifndef WS_QUEUE_H
#define WS_QUEUE_H

#include "../wide/ws_wide.h"
#include "ws_tasks.h"

// The owner.

/// @brief Push @p count tasks; the caller has seen room for them.
static inline void ws_queue_push(ws_queue_t *queue, const ws_task_t *tasks, uint64_t count)
{
  ws_summary_note(queue);
  ws_deque_push(&queue->deque, tasks, count);
}

/// @brief Room for one more task. @param grow  make room if there is none: double the capacity, waiting up to
/// 1 ms while pages are being given back. @return false = it is full, or there is no memory
bool ws_queue_room(ws_queue_t *queue, bool grow);

/// @brief Return to the first capacity if it is empty: then there are pages to give back.
void ws_queue_shrink(ws_tasks_t *tasks, ws_queue_t *queue);

// Any thread.

/// @brief Take the oldest task, as a thief does. @return false = there is none, or others were quicker
bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task);

/// @return a number that grows when a task of the queue is begun or finished
uint64_t ws_queue_steps(const ws_queue_t *queue);

// Set up, and count.

/// @param cells  capacity zeroed cells, capacity a power of two; stay the caller's
void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity);

#endif
