// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_swap.h
/// A worker goes from one fiber's task to the next without a way through its loop.
#ifndef WS_SWAP_H
#define WS_SWAP_H

#include "../pool/ws_types.h"

typedef enum {
  WS_SWAP_NOT, ///< nothing has happened
  WS_SWAP_PUSHED, ///< the task is queued
  WS_SWAP_TAKEN, ///< the task is queued and its last run counted; another one runs in its place
} ws_swap_t;

/// @brief The task that a worker runs stops in the middle: push it, and take the oldest task of the worker's
/// queue in its place if that has the same function. In a wait such a task need not be one of the wait's: it
/// does not block. Not for pools with tasks of a kind.
/// @param task    not read any more once it is queued
/// @param oldest  out; may be overwritten although no task is taken
/// @threads   the worker, in the task
WS_FOR_FIBERS ws_swap_t ws_swap(ws_worker_t *worker, const ws_task_t *task, ws_task_t *oldest);

#endif
