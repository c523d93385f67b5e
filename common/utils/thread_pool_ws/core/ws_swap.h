// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_swap.h
/// A fiber lets others run: its task is queued again, and the policy of core/ decides what the thread runs
/// next. In the worker's loop that is the oldest task of the worker's queue. If that is a fiber, too, the
/// thread goes on with it without a way through the loop. In a wait, at the end of a round, and in all other
/// cases the thread returns to its loop. So each loop decides after each fiber whether it goes on.
#ifndef WS_SWAP_H
#define WS_SWAP_H

#include "../pool/ws_types.h"

typedef enum {
  WS_SWAP_NOT, ///< nothing has happened, for want of memory: the task goes on
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
/// @threads   as ws_swap()
WS_FOR_FIBERS void ws_swap_none(ws_here_t here);

#endif
