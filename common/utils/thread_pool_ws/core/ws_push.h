// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_push.h
/// Pushes beside those of ws_pool.h: for the tasks of fibers.
#ifndef WS_PUSH_H
#define WS_PUSH_H

#include "../pool/ws_types.h"

/// @brief Push the task of a fiber that has not begun. As ws_pool_push() with WS_FULL_GROW, but a task that
/// finds no room is not run in the push: a fiber may need what its pusher does next.
/// @return as ws_pool_push(), or -ENOMEM = the caller's queue is full, and there is no memory
/// @threads   any
WS_FOR_FIBERS int ws_push_or_fail(struct ws_pool_s *pool, const ws_task_t *task);

/// @brief Push the task of a fiber that continues. The pool takes it in every state and, if the caller's
/// queue cannot grow, runs it in the push. The pool must not become idle before the call returns.
/// @threads   any
WS_FOR_FIBERS void ws_push_again(struct ws_pool_s *pool, const ws_task_t *task);

/// @brief As ws_push_again(), but never runs the task.
/// @return false = the caller's queue is full, and there is no memory: nothing was pushed
bool ws_try_push_again(struct ws_pool_s *pool, const ws_task_t *task);

/// @brief Block until no thread holds the pool: ws_pool_hold() in ws_record.h.
void ws_hold_drain(struct ws_pool_s *pool);

#endif
