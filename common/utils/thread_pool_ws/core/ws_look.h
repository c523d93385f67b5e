// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_look.h
/// Looks elsewhere. A worker prefers its own queue. If that never gets empty (a task pushes its successor, or
/// fibers yield to each other), the tasks of other queues would wait without end. So such a worker looks
/// elsewhere after a bounded number of its own tasks.
///
/// Turns   Each look serves a place that has not been served for long. Looks alternate between the lanes, up
///         to 8 of them in turn at a look, and the other places, one at a look: each worker's queue twice,
///         then the aside queues, the shared queue and the inboxes of starved workers. If the first of the
///         two holds nothing the look goes on with the other.
/// Bound   The oldest task of a lane is taken at the latest after 2 x (lanes) looks of any one worker that
///         always has tasks of its own; the oldest of another place after 2 x (2 x workers + 1).
/// Robbing A worker that takes its own tasks is left alone unless it has more of them than the caller: a
///         steal from it would only move cache lines.
#ifndef WS_LOOK_H
#define WS_LOOK_H

#include "../pool/ws_types.h"

/// @brief Choose the place of the next look. Reads the sizes of a few queues only.
/// @return whether ws_look_take() would probably find a task there
/// @threads  the owner of here.queue
WS_FOR_FIBERS bool ws_look_plan(struct ws_pool_s *pool, ws_here_t here);

/// @brief Take the oldest task of the place that ws_look_plan() has chosen.
bool ws_look_take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief Each 61st search of a worker that always has tasks of its own: look elsewhere or, each fourth time
/// if the newest goes first, take the own oldest task, which would wait without end, too.
/// @return whether a task was taken; false = search as always
bool ws_look_now_and_then(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

#endif
