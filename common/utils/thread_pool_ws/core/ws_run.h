// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_run.h
/// Life of a task, step 5: run. One place for the ways in which a task can run: from a queue, inline, late.
/// Before: ws_worker.c; after: ws_group.c.
#ifndef WS_RUN_H
#define WS_RUN_H

#include "../pool/ws_types.h"

/// @brief Run a task taken from a queue, or skip it if the pool aborts. The caller must complete the group
/// and count the task, for several tasks of one group at once if it likes.
void ws_run(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Count @p tasks as run, after their groups were completed: a thread that waits for the pool may free
/// the groups then.
WS_FOR_FIBERS void ws_count_run(ws_queue_t *queue, uint32_t tasks);

/// @brief Complete the tasks that the calling worker has run, and count them.
/// @threads  the worker
void ws_complete_due(ws_worker_t *worker);

/// @brief Run a task taken from a queue under its own root, complete its group, count it.
void ws_run_whole(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Complete the group of a task that did not come from a queue; count the task.
void ws_finish(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Count @p tasks as pushed, before they can run: a thread that compares run with pushed must never
/// see more run.
/// @param queue  the caller's queue, NULL = it has none
WS_FOR_FIBERS void ws_count_pushed(struct ws_pool_s *pool, ws_queue_t *queue, uint64_t tasks);

/// @brief Run a task inside its push; completes its group.
void ws_run_inline(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Run a task that was pushed while the pool stopped, or that a thread without a lane has taken, or
/// skip it after an abort; completes its group.
void ws_run_late(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @return whether the calling thread is inside a task of @p pool. Works with and without a lane: the thread
///         may have claimed a lane since it began the task
bool ws_is_inside(const struct ws_pool_s *pool, ws_here_t here);

/// @brief The loop of a worker's thread, which ws_start.c makes: find, run, spin, park, until the pool has
/// stopped.
void ws_worker_loop(ws_worker_t *worker);

/// The function of each task with a key (ws_keyed.c).
void ws_keyed_run(void *keyed);

/// The function that an abort calls in its place: count, and call on_cancel.
void ws_keyed_skip(void *keyed);

/// @brief Report a task without a key that does not run: settle its record (ws_record.h), or call
/// settings.skipped.
WS_FOR_FIBERS void ws_skip_report(const struct ws_pool_s *pool, const ws_task_t *task);

#endif
