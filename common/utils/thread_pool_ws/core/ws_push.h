// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_push.h
/// Pushes beside those of ws_pool.h: for the tasks of fibers.
#ifndef WS_PUSH_H
#define WS_PUSH_H

#include "../pool/ws_types.h"

/// @brief Push the task of a fiber that has not begun. As ws_pool_push() with WS_FULL_GROW, but a task that
/// finds no room is not run in the push: a fiber may need what its pusher does next.
/// @return as ws_pool_push(), but -ENOMEM in place of -EAGAIN: the task's queue is full, and cannot grow
/// @threads   any
WS_FOR_FIBERS int ws_push_or_fail(struct ws_pool_s *pool, const ws_task_t *task);

/// @brief Push the task of a fiber that continues. The pool takes it in every state. The pool must not become
/// idle before the call returns.
/// @param may_run  if the task's queue is full and cannot grow, the task runs in the push
/// @return false = the queue is full, cannot grow, and the task must not run here: nothing was pushed
/// @threads   any
WS_FOR_FIBERS bool ws_push_again(struct ws_pool_s *pool, const ws_task_t *task, bool may_run);

/// @brief The pool has stopped, or did so while a push of the caller was under way, and its workers may be
/// gone: run or skip all tasks, for no other thread will look. Call after a fence that follows the stop.
void ws_run_left(struct ws_pool_s *pool, ws_here_t here);

// A fiber lets others run: its task is queued again, and the policy of core/ decides what the thread runs
// next. In the worker's loop that is the oldest task of the worker's queue. If that is a fiber, too, the
// thread goes on with it without a way through the loop. In a wait, at the end of a round, and in all other
// cases the thread returns to its loop. So each loop decides after each fiber whether it goes on.

typedef enum {
  WS_SWAP_NOT, ///< the task is not queued, for want of memory, and goes on. Other tasks may have run
  WS_SWAP_RETURN, ///< the task is queued; the thread returns to its loop
  WS_SWAP_RIDE, ///< the task is queued and its last run counted; another one runs in its place
} ws_swap_t;

/// @brief The task that the caller runs stops in the middle and lets others run. Queue it.
/// If the queue is full and there is no memory, the task takes the place of the oldest task there. That runs
/// now, also in a wait that must not run it.
/// @param worker  that the caller is in the pool; NULL = none
/// @param task    not read any more once it is queued
/// @param next    out: with WS_SWAP_RIDE the task that runs in its place, which has the same function. May be
///                overwritten in any case
/// @threads   the thread that runs the task, outside the task's stack
WS_FOR_FIBERS ws_swap_t ws_swap(struct ws_pool_s *pool, ws_worker_t *worker, const ws_task_t *task,
                                ws_task_t *next);

/// @brief The task that the caller runs has stopped in the middle, and waits: count that for the round.
/// Without a queue nothing happens.
/// @threads   as ws_swap()
WS_FOR_FIBERS void ws_swap_none(ws_here_t here);

#endif
