// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.h
/// A waiting thread must reach its group's tasks without running unrelated ones, or the last awake thread
/// could wait without end. A worker moves the unrelated tasks that lie above to its aside queue, where other
/// workers find them. A thread outside lifts them, takes its task, and puts them back. So does a worker in a
/// wait inside another wait: the outer one may need those tasks, and only it may run them if all other
/// workers are busy. Tasks of a kind: the same, with an aside queue for each kind (ws_kind.c).
///
/// Marks     Each wait of a thread keeps a mark in the thread's queue. Tasks from the mark on were pushed
///           since the wait began, by tasks that the wait has run: the wait may run them. Tasks below the
///           mark are unrelated. A dig moves the lifted tasks by one index: down if it took a task from
///           under them; up if thieves took all tasks under them meanwhile, because taking the last task of
///           a deque moves its top past it. The marks of all waits of the thread above the hole move along.
///           Otherwise an outer wait would take the newest unrelated task for one that was pushed since its
///           mark.
/// Turns     At the end of a round (ws_round.h), or when a fiber has yielded, a task goes first that would
///           otherwise be late: the oldest in the queue, if the wait may run it. If not, the thread reaches
///           under the newer ones, a bounded number of them, in turns for a task of the group and for the
///           oldest above the mark. After a yield a worker moves the oldest ones to its aside queue instead.
///           So tasks that push themselves again, and fibers that yield, never keep a wait from its other
///           tasks.
#ifndef WS_DIG_H
#define WS_DIG_H

#include "../pool/ws_grouped.h"
#include "../pool/ws_kind.h"
#include "../pool/ws_types.h"

/// Tasks that most turns reach under, or that a worker moves then.
#define WS_TURN_DEPTH_MAX 64u

/// @return how deep a wait digs. A worker may be the only thread that can run the task
static inline uint32_t ws_dig_depth_max(ws_here_t here)
{
  return here.worker ? UINT32_MAX : WS_DIG_DEPTH_MAX;
}

/// @brief Take a task of @p group from under others in the caller's own queues.
bool ws_dig(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// Where the wait looks.
typedef struct {
  ws_kind_t kind; ///< WS_KIND_NONE = tasks of no kind
  bool down; ///< below the mark for a task of the group; false = for the oldest above it
  uint32_t depth_max; ///< tasks that it reaches under
} ws_turn_t;

/// @brief A round of a wait is over: take the oldest task that the wait may run, from the caller's own queue
/// of that kind.
/// @param allowed  from: set here. func: function of a fiber's task that has yielded; NULL = none
bool ws_dig_turn(struct ws_pool_s *pool, ws_here_t here, ws_allowed_t allowed, const ws_turn_t *turn,
                 ws_task_t *task);

#endif
