// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_laneless.h
/// Life of a task, step 7 for tasks in the queue that threads without a lane share. A thread that has no lane
/// in a pool runs its group's tasks from there while it waits. Otherwise settings.lanes would decide whether
/// nested waits end: a worker of another pool that waits here may be the only thread that can run the task.
///
/// A thread that has a lane looks there, too: it may have pushed the tasks before it got the lane.
#ifndef WS_LANELESS_H
#define WS_LANELESS_H

#include "../pool/ws_types.h"

/// @brief Take a task of @p group from the shared queue, wherever it lies there.
/// @param weak  or one with a weak tag of the group
/// @param seen  in and out: 0 at first. No task before this index is one that the caller could take: each
///              wait reads each task once
bool ws_laneless_find(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, bool weak,
                      uint64_t *seen, ws_task_t *task);

#endif
