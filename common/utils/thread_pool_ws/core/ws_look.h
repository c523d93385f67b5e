// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_look.h
/// Looks elsewhere: at the end of a round (ws_round.h) a task of another queue has its turn.
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

/// @brief A thread that goes from fiber to fiber has ended a round: choose the place of its next look.
/// @return whether another queue holds a task; the thread's next search takes it
/// @threads  the owner of here.queue
bool ws_look_ahead(struct ws_pool_s *pool, ws_here_t here);

/// @brief A search ends a round: look elsewhere or, each fourth time if the newest goes first, take the own
/// oldest task, which would wait without end, too. After a round in which fibers stopped, first the one, then
/// the other.
/// @return whether a task was taken; false = search as always
bool ws_look_turn(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

#endif
