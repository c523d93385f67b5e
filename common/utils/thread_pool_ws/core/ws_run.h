// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_run.h
/// Life of a task, step 5: run. One place for the ways in which a task can run: from a queue, inline, late.
#ifndef WS_RUN_H
#define WS_RUN_H

#include "../pool/ws_types.h"

/// @brief Run a task taken from a queue, or skip it when the pool aborts. Does not complete its group, nor
/// count it: the caller does, and may do so for several tasks of one group at once.
void ws_run(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Count @p tasks as run, after their groups were completed: a thread that waits for the pool may free
/// the groups then.
void ws_count_run(ws_queue_t *queue, uint32_t tasks);

/// @brief Run a task taken from a queue under its own root, complete its group, count it.
void ws_run_whole(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Complete the group of a task that came from no queue, or that ended its thread, and count it.
void ws_finish(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Count @p tasks as pushed, before they can run: a thread that compares run with pushed must never
/// see more run.
/// @param queue  the caller's, NULL = it has none
void ws_count_pushed(struct ws_pool_s *pool, ws_queue_t *queue, uint64_t tasks);

/// @brief Run a task inside its push; completes its group.
void ws_run_inline(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Deal with a task that was pushed while the pool stopped: run it, or skip it after an abort;
/// completes its group.
void ws_run_late(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @return whether the calling thread, which is no worker of @p pool, is inside a task of it. With a lane or
/// without: in the middle of a task that it began without one it may have found a lane since
bool ws_is_inside(const struct ws_pool_s *pool, ws_here_t here);

/// @brief Tell threads in ws_pool_wait that the caller has run out of work.
void ws_note_idle(struct ws_pool_s *pool);

#endif
