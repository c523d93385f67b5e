// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_age.h
/// Life of a task, step 4 in pools that use priorities: the task that has waited longest goes first if it has
/// waited longer than settings.age_ns_max, whatever its priority. So each task runs, even if tasks of higher
/// priority come without end.
///
/// Cost    A look at all places costs the more, the more threads push. After a look that finds no task too
///         old, no thread looks for a sixteenth of the bound. In a pool that is late each look finds one: 16
///         of them may follow each other. From then on a thread looks once in as many searches as there are
///         places. In between it takes tasks that are too old from the place of the last look.
/// Bound   So the task that has waited longest goes first, or, if a thread has taken more than 16 such tasks
///         without a break, after as many further searches of that thread as there are places.
#ifndef WS_AGE_H
#define WS_AGE_H

#include "../pool/ws_types.h"

/// @brief Take the task that has waited longest, if that is too long.
bool ws_age_take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

#endif
