// SPDX-License-Identifier: BSD-3-Clause
/// @file tpool_task.h
/// Between pushTpool and the answers: how a task, which does not name its answer, gets the tag of the group
/// that its thread will join.
#ifndef TPOOL_TASK_H
#define TPOOL_TASK_H

#include "ws_group.h"
#include "ws_tpool.h" // IWYU pragma: export

/// @return the tag for a task of @p func that the calling thread pushes to @p tpool now, NULL = none
ws_group_t *ws_tpool_tag(ws_tpool_t *tpool, void (*func)(void *));

#endif
