// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_push.h
/// A push beside those of ws_pool.h: for tasks that have begun already.
#ifndef WS_PUSH_H
#define WS_PUSH_H

#include "../pool/ws_types.h"

/// @brief Push the task of a fiber that continues. The pool takes it in every state and, if the caller's
/// queue cannot grow, runs it in the push. The pool must not become idle before the call returns.
/// @threads   any
WS_FOR_FIBERS void ws_push_again(struct ws_pool_s *pool, const ws_task_t *task);

#endif
