// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queue.h
/// Life of a task, step 2: the queue of one thread, which is a deque (ws_deque.h) and what belongs to its
/// owner (ws_tasks.h). Before: ws_push.c; after: ws_wake.h.
#ifndef WS_QUEUE_H
#define WS_QUEUE_H

#include "ws_summary.h"

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

/// @brief Return to the first capacity if it is empty and has grown: tasks->loose is set then.
void ws_queue_shrink(ws_tasks_t *tasks, ws_queue_t *queue);

// Any thread.

/// @brief Take the oldest task, as a thief does. @return false = there is none, or others were quicker
bool ws_queue_take_oldest(ws_queue_t *queue, ws_task_t *task);

/// @return a number that grows when a task leaves the queue, and when the owner has stolen one or run one
uint64_t ws_queue_steps(const ws_queue_t *queue);

// Set up, and count.

/// @brief Set up a queue whose bytes are 0.
/// @param cells  capacity zeroed cells, capacity a power of two, at least 2; stay the caller's
/// @param fifo  the owner takes its oldest task, not its newest (settings.fifo)
void ws_queue_init(ws_queue_t *queue, ws_cell_t *cells, uint64_t capacity, bool fifo);

// All places where tasks of a pool wait, numbered: first the queues that all threads share, by their kind,
// then the threads' queues, workers' and lanes. A task in an inbox waits for its worker, which is about to
// take it; one that is stuck there has no number (ws_inbox.h).
// Any thread may call these.

/// @return how many there are. They are mostly looked at from the last to the first: lanes hold the bursts
static inline uint32_t ws_places(const ws_tasks_t *tasks)
{
  return tasks->kinds + ws_queue_count(tasks);
}

/// @return whether a take would probably find a task
bool ws_place_holds(const ws_tasks_t *tasks, uint32_t place);

/// @brief Take the oldest task there, as a thief does. @return false = there is none, or others were quicker
bool ws_place_take(ws_tasks_t *tasks, uint32_t place, ws_task_t *task);

/// @return whether any place holds a task, or one is stuck in an inbox. Call after a seq_cst fence to decide
/// about sleep
bool ws_work_visible(const ws_tasks_t *tasks);

/// @return tasks in all places, and stuck in inboxes, about
uint64_t ws_queued(const ws_tasks_t *tasks);

/// @brief Give memory that queues do not need any more back to the kernel. Nothing happens unless
/// tasks->loose is set; it is cleared.
void ws_queues_trim(ws_tasks_t *tasks);

#endif
