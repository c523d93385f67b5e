// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_round.h
/// Rounds and the fairness tick: whose turn it is among the tasks that a search could take.
#ifndef WS_ROUND_H
#define WS_ROUND_H

#include "ws_search.h" // IWYU pragma: export

// Rounds: the one rule of fairness. A thread prefers the tasks of its own queue. If these never run out (a
// task pushes its successor, fibers yield to each other), other tasks would wait without end. So the own
// tasks go first for a round. At its end another task has its turn. A wait has rounds of its own.
//
//   loop of                          at the end of a round goes first
//   a worker, or ws_pool_wait()      the oldest task of the next place: the fairness tick, see below
//   a wait for a group or an event   a task of the own deque that would be late (ws_dig_turn()), or one that
//                                    lies elsewhere: handed to a worker, below the group, or pool-wide
//   a thread that goes from fiber    as in the worker's loop, to which the thread then returns (ws_push.h)
//   to fiber
//
// Length  61 searches or, where fibers stop in the middle, as many stops as fit in 50 us if each run of a
//         fiber takes as long as those of the last round did: 1 to 16, at most twice as many as in that one.
// All functions are the queue's owner's.

/// @brief Count a search. @return whether the round is over: the caller calls ws_round_begin(), and gives
/// another task its turn
static inline bool ws_round_search(ws_queue_t *queue)
{
  return WS_UNLIKELY(--queue->round.left == 0);
}

/// @brief Count a stop of a fiber. @return whether the next search ends the round
static inline bool ws_round_stop(ws_queue_t *queue)
{
  if (WS_LIKELY(queue->round.stops_left > 1)) {
    queue->round.stops_left--;
    return false;
  }
  queue->round.stops_left = 0;
  queue->round.left = 1;
  return true;
}

/// @brief The next search ends the round.
static inline void ws_round_cut(ws_queue_t *queue)
{
  queue->round.left = 1;
}

/// @brief Begin a round. Reads the clock only if fibers stopped in the last one.
void ws_round_begin(ws_queue_t *queue);

// The fairness tick: the last search of a round serves a place whose turn it is, the oldest task there. So
// each task runs, even if tasks of higher priority, or in the own queue, never run out.
//
// Turns   The places follow each other from the last to the first (ws_queue.h): lanes, workers' queues, the
//         queues that all threads share. Each thread goes round by itself, and passes over empty places, 8 in
//         a tick at most. The own queue has its turn, too: the next search is a further tick then, so the
//         others do not wait longer. A task that is stuck in an inbox goes before all.
// Bound   Of P places at most H hold tasks. The oldest task of each is taken at the latest after
//         61 x (H + P / 8 + 1) searches of any one thread. P is workers + lanes ever used + 3 + nodes. A pool
//         without several nodes has none of them. Each task that is stuck then takes 61 searches more.

/// @brief Take a task that is stuck in an inbox (ws_inbox.h).
bool ws_take_stuck(ws_search_t *search, ws_task_t *task);

/// @brief A search ends a round: take a task that is stuck, or the oldest of the place whose turn it is. The
/// next round begins, or if it was the own queue's turn, the next search is a tick, too.
/// @return false = search as always
bool ws_tick(ws_search_t *search, ws_task_t *task);

/// @brief A thread that goes from fiber to fiber has ended a round: the next one begins.
/// @return whether another place holds a task, or one is stuck: the next search is a tick then, and takes it
/// @threads  the owner of @p own
bool ws_tick_ahead(struct ws_pool_s *pool, ws_queue_t *own);

#endif
