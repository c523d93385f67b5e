// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_age.h
/// Life of a task, step 4 in pools that use priorities: the task that has waited longest goes first if it has
/// waited longer than settings.age_ns_max, whatever its priority. So each task runs, even if tasks of higher
/// priority come without end.
#ifndef WS_AGE_H
#define WS_AGE_H

#include "../pool/ws_types.h"

/// @brief Take the task that has waited longest, if that is too long. Looks at every queue, but for some time
/// not again after a look that has found none.
bool ws_age_take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

#endif
