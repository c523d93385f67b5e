// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.h
/// A waiting thread must reach its group's tasks without running strangers', or the last thread awake would
/// wait for ever. A worker moves the strangers' tasks that lie above into a queue of their own, where other
/// workers find them. A thread outside lifts them, takes its task, and puts them back.
///
/// Marks     Each wait of a thread keeps a mark in the thread's queue: tasks from the mark on were pushed
///           since the wait began, by what the wait has run, so the wait may run them; tasks below are
///           strangers'. A dig moves the lifted tasks by one index: down when it took a task from under
///           them; up when thieves took all that lay under them meanwhile, because taking the last task of a
///           deque moves its top past it. The marks of all waits of the thread above the hole move along.
///           Without that a wait around the one that digs would take the newest stranger's task for one
///           that was pushed since its mark.
#ifndef WS_DIG_H
#define WS_DIG_H

#include "../pool/ws_types.h"

/// @brief Take a task of @p group from under others in the caller's own queues.
bool ws_dig(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

#endif
