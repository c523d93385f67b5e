// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_push.h
/// A push beside those of ws_pool.h: for tasks that have begun already.
#ifndef WS_PUSH_H
#define WS_PUSH_H

#include "../pool/ws_types.h"

/// @brief Push the task of a fiber that continues. The pool takes it in every state and, if the caller's
/// queue cannot grow, runs it in the push. The pool must not become idle before the call returns.
/// @threads   any
void ws_push_again(struct ws_pool_s *pool, const ws_task_t *task);

typedef enum {
  WS_SWAP_NOT, ///< nothing has happened
  WS_SWAP_PUSHED, ///< the task is queued
  WS_SWAP_TAKEN, ///< the task is queued and its last run counted; another one runs in its place
} ws_swap_t;

/// @brief The task that a worker runs stops in the middle: push it, and take the oldest task of the worker's
/// queue in its place if that has the same function. Only if the task is the only one on the worker's stack,
/// and the pool has no tasks of a kind.
/// @threads   the worker, in the task
ws_swap_t ws_push_swap(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task, ws_task_t *oldest);

#endif
