// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_places.h
/// All places where tasks of a pool wait, one after the other: lanes, workers' queues, the queues that all
/// threads share, and tasks that are stuck in inboxes. A search of all places uses the iterator, so a new
/// kind of place is added here only. A task in any other inbox waits for its worker, which is about to take
/// it.
/// @threads any, for all functions
#ifndef WS_PLACES_H
#define WS_PLACES_H

#include "ws_tasks.h"

/// @brief Go to the next place: `for (ws_place_t at = {0}; ws_places_next(tasks, &at);)`.
/// @return false = there is no further place, and @p at is WS_AT_NONE again
bool ws_places_next(const ws_tasks_t *tasks, ws_place_t *at);

/// @return whether a take would probably find a task
bool ws_place_holds(const ws_tasks_t *tasks, const ws_place_t *place);

/// @brief Take the oldest task there, as a thief does. WS_AT_NONE holds none.
bool ws_place_take(ws_tasks_t *tasks, const ws_place_t *place, ws_task_t *task);

/// @return whether any place holds a task. Call after a seq_cst fence to decide about sleep
bool ws_work_visible(const ws_tasks_t *tasks);

/// @return tasks in all places, about
uint64_t ws_queued(const ws_tasks_t *tasks);

/// @return whether some queue may have pages to give back to the kernel
bool ws_queues_need_trim(const ws_tasks_t *tasks);

/// @brief Give them back.
void ws_queues_trim(ws_tasks_t *tasks);

/// @brief Take a task that the guard has found stuck in an inbox.
bool ws_places_take_stuck(ws_tasks_t *tasks, ws_task_t *task);

#endif
