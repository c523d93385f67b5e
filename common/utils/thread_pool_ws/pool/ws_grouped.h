// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_grouped.h
/// What a join does with a deque of its thread: find tasks by their group, at any depth.
/// @threads  the deque's owner, for all functions
#ifndef WS_GROUPED_H
#define WS_GROUPED_H

#include "../queue/ws_deque.h"

/// Tasks that lie at another index than before.
typedef struct {
  uint64_t from; ///< those from this index on
  uint64_t by; ///< added to their index; may wrap
} ws_moved_t;

/// @brief Take the newest task, or else the oldest, if it carries @p group. @param weak  or a weak tag of it
bool ws_grouped_take(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task);

/// @return whether a task of @p group is queued, at any depth
bool ws_grouped_holds(const ws_deque_t *deque, const ws_group_t *group, bool weak);

/// @brief Take the newest task of @p group from under others, at most @p depth_max of them. Those go back in
/// their order.
/// @param moved  out: those, also if no task was found
bool ws_grouped_take_under(ws_deque_t *deque, const ws_group_t *group, bool weak, uint32_t depth_max,
                           ws_task_t *task, ws_moved_t *moved);

/// @brief Steal the oldest task while @p root is @p group. @param weak  or a weak tag of it
/// @param root  of the queues of the deque's owner (ws_root.h). @threads  any
bool ws_grouped_steal_under(ws_deque_t *deque, const ws_aptr_t *root, const ws_group_t *group, bool weak,
                            ws_task_t *task);

#endif
