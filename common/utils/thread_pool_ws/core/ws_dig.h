// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.h
/// A waiting thread must reach its group's tasks without running unrelated ones, or the last awake thread
/// could wait without end. A worker moves the unrelated tasks that lie above to its aside queue, where other
/// workers find them. A thread outside lifts them, takes its task, and puts them back.
///
/// Marks     Each wait of a thread keeps a mark in the thread's queue. Tasks from the mark on were pushed
///           since the wait began, by tasks that the wait has run: the wait may run them. Tasks below the
///           mark are unrelated. A dig moves the lifted tasks by one index: down if it took a task from
///           under them; up if thieves took all tasks under them meanwhile, because taking the last task of
///           a deque moves its top past it. The marks of all waits of the thread above the hole move along.
///           Otherwise an outer wait would take the newest unrelated task for one that was pushed since its
///           mark.
#ifndef WS_DIG_H
#define WS_DIG_H

#include "../pool/ws_types.h"

/// @brief Take a task of @p group from under others in the caller's own queues.
bool ws_dig(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

#endif
