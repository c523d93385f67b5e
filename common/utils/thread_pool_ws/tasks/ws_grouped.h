// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_grouped.h
/// What a join does with a deque of its thread: find tasks by their group, at any depth.
/// @threads  the deque's owner, for all functions
#ifndef WS_GROUPED_H
#define WS_GROUPED_H

#include "ws_deque.h"

/// How deep a thread that is no worker of the pool digs in its own queues before it gives up.
#define WS_DIG_DEPTH_MAX 1024u

/// Tasks that lie at another index than before.
typedef struct {
  uint64_t from; ///< those from this index on
  uint64_t by; ///< added to their index; may wrap
} ws_moved_t;

/// @brief Take the newest task, or else the oldest, if it carries @p group. @param weak  or a weak tag of it
bool ws_grouped_take(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task);

/// @return how deep the newest task of @p group lies: 1 = it is the newest of all; 0 = none is queued
uint64_t ws_grouped_depth(const ws_deque_t *deque, const ws_group_t *group, bool weak);

/// @return whether the caller has another use for a task than to put it back
typedef bool ws_takes_t(const ws_task_t *task, void *arg);

/// @brief Take the newest task of @p group from under others. Those go back in their order, but the ones for
/// which @p takes returns true.
/// @param moved  out: tasks that lie elsewhere in @p deque, also if no task was found. Void if @p takes took
/// @param takes  NULL = all go back
bool ws_grouped_take_under(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task,
                           ws_moved_t *moved, ws_takes_t *takes, void *arg);

/// The tasks that a wait may run.
typedef struct {
  const ws_group_t *group; ///< those that carry it
  bool weak; ///< or a weak tag of it
  uint64_t from; ///< those from this index on: pushed since the wait began
  void (*func)(void *arg); ///< those with this function; NULL = none
} ws_allowed_t;

/// What ws_grouped_take_oldest() has found.
typedef enum {
  WS_TOOK_NONE, ///< no task is queued
  WS_TOOK_ALLOWED, ///< the oldest task; the wait may run it
  WS_TOOK_OTHER ///< the oldest task, which the wait must not run: taken only if the caller takes others, too
} ws_took_t;

/// @brief Take the oldest task if it is @p allowed. @param others  take it also if it is not
ws_took_t ws_grouped_take_oldest(ws_deque_t *deque, const ws_allowed_t *allowed, bool others,
                                 ws_task_t *task);

/// @brief Take the oldest task if it is @p allowed. If it is not, reach under at most @p depth_max newer
/// ones, which go back in their order: for the newest task of the group below index allowed->from or, if not
/// @p down, for the oldest from that index on.
/// @param moved  out: those, also if no task was found
bool ws_grouped_take_turn(ws_deque_t *deque, const ws_allowed_t *allowed, bool down, uint32_t depth_max,
                          ws_task_t *task, ws_moved_t *moved);

/// @brief Take all tasks for which @p takes returns true. The others keep their order. No wait of the owner
/// may have a mark in the deque. @return how many
uint64_t ws_grouped_sift(ws_deque_t *deque, ws_takes_t *takes, void *arg);

/// @brief Steal the oldest task while @p root is @p group. @param weak  or a weak tag of it
/// @param root  of the queue of the deque's owner (ws_root.h). @threads  any
bool ws_grouped_steal_under(ws_deque_t *deque, const ws_aptr_t *root, const ws_group_t *group, bool weak,
                            ws_task_t *task);

#endif
