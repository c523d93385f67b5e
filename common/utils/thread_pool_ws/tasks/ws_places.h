// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_places.h
/// All places where tasks of a pool wait, numbered: first the queues that all threads share, by their kind,
/// then the threads' queues, workers' and lanes. A task in an inbox waits for its worker, which is about to
/// take it; one that is stuck there has no number (ws_inbox.h).
/// @threads any, for all functions
#ifndef WS_PLACES_H
#define WS_PLACES_H

#include "ws_tasks.h"

/// @return how many there are. They are mostly looked at from the last to the first: lanes hold the bursts
static inline uint32_t ws_places(const ws_tasks_t *tasks)
{
  return tasks->kinds + ws_queue_count(tasks);
}

/// @return whether a take would probably find a task
bool ws_place_holds(const ws_tasks_t *tasks, uint32_t place);

/// @brief Take the oldest task there, as a thief does.
bool ws_place_take(ws_tasks_t *tasks, uint32_t place, ws_task_t *task);

/// @return whether any place holds a task, or one is stuck in an inbox. Call after a seq_cst fence to decide
/// about sleep
bool ws_work_visible(const ws_tasks_t *tasks);

/// @return tasks in all places, and stuck in inboxes, about
uint64_t ws_queued(const ws_tasks_t *tasks);

/// @return whether some queue may have pages to give back to the kernel
bool ws_queues_need_trim(const ws_tasks_t *tasks);

/// @brief Give them back.
void ws_queues_trim(ws_tasks_t *tasks);

#endif
