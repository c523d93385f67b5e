// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_limited.h
/// Life of a task, step 6 for a task that holds a place of a limit (ws_limit.h).
#ifndef WS_LIMITED_H
#define WS_LIMITED_H

#include "../pool/ws_types.h"

/// @brief The task has ended, also if it has ended its thread: if it held a place, give the place back, and
/// wake a worker for the next task of the line.
void ws_limited_end(struct ws_pool_s *pool, const ws_task_t *task);

#endif
