// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_next.h
/// Life of a task, step 4: what next. Before: ws_wake.h; after: ws_worker.c. One list of sources (ws_next.c)
/// answers the worker's loop, ws_pool_wait() and each wait for a group or an event. A search takes a task and
/// does not run it.
#ifndef WS_NEXT_H
#define WS_NEXT_H

#include "../pool/ws_types.h"
#include "../tasks/ws_dig.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"

/// Which tasks a search takes.
typedef enum {
  WS_NEXT_ANY = 1, ///< each: a worker's loop, a wait for the pool
  WS_NEXT_GROUP = 2, ///< of a group, and what those have pushed: a wait for a group or an event
  WS_NEXT_OWN = 4 ///< the caller's own: a wait for the pool that may end before its tasks (take_below())
} ws_filter_t;

/// A search: the thread that makes it, the tasks that it may take, and what it has found out.
typedef struct {
  struct ws_pool_s *pool;
  ws_here_t here; ///< without a queue, the thread takes from pool-wide queues only
  ws_wait_t *wait; ///< with WS_NEXT_GROUP: the queue's innermost; which tasks
  ws_filter_t filter;
  uint32_t turn; ///< in and out: which place goes first next time (take_in_turn())
  bool from_own; ///< out, of a wait: the task lay in the own deque, and belongs to its root (ws_run.h)
  bool hid; ///< out: set if other tasks were hidden for a moment; the caller must call ws_fill_place()
  bool lost; ///< out, of a wait: others were quicker, and tasks below it may be left (ws_steal_below())
} ws_search_t;

// Rounds: the one rule of fairness. A thread prefers the tasks of its own queue. If these never run out (a
// task pushes its successor, fibers yield to each other), other tasks would wait without end. So the own
// tasks go first for a round. At its end another task has its turn. A wait has rounds of its own.
//
//   loop of                          at the end of a round goes first
//   a worker, or ws_pool_wait()      the oldest task of the next place: the fairness tick, see below
//   a wait for a group or an event   the oldest task that the wait may run (ws_dig.h), or one that lies
//                                    elsewhere: handed to a worker, pushed by a task of the group, shared
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
//         61 x (H + P / 8 + 1) searches of any one thread. P is workers + lanes in use + 3 + nodes. A pool
//         without several nodes has none of them. Each task that is stuck then takes 61 searches more.

/// @brief Take a task that is stuck in an inbox (ws_inbox.h).
bool ws_take_stuck(ws_search_t *search, ws_task_t *task);

/// @brief A search ends a round: take a task that is stuck, or the oldest of the place whose turn it is. The
/// next round begins.
/// @return false = search as always
bool ws_tick(ws_search_t *search, ws_task_t *task);

/// @brief A thread that goes from fiber to fiber has ended a round.
/// @return whether another place holds a task; the next search is a tick, and takes it
/// @threads  the owner of @p own
bool ws_tick_ahead(struct ws_pool_s *pool, ws_queue_t *own);

/// @brief ws_next() off the usual path: what is late goes first, then all sources.
bool ws_next_of_all(ws_search_t *search, ws_task_t *task);

/// @brief ws_next() when the own deque has nothing for the search.
bool ws_next_elsewhere(ws_search_t *search, ws_task_t *task);

/// @brief Take the next task: from the first source that has one. On the usual path the pool-wide queues are
/// empty, and the own deque comes first. @param filter  as in the search. @return false = no source has one
static inline bool ws_next(ws_search_t *search, ws_filter_t filter, ws_task_t *task)
{
  ws_queue_t *own = search->here.queue;
  const bool is_ordered = filter == WS_NEXT_OWN || (filter == WS_NEXT_ANY && own && own->oldest != 0);
  if (WS_UNLIKELY(!own || is_ordered || ws_shared_count(&search->pool->tasks) > 0 || ws_round_search(own)))
    return ws_next_of_all(search, task);
  search->from_own = filter == WS_NEXT_GROUP ? ws_dig(&search->pool->tasks, own, task, &search->hid)
                                             : ws_deque_take(&own->deque, task);
  return search->from_own || ws_next_elsewhere(search, task);
}

/// @brief Take any task, wherever it lies: the pool has stopped, and its workers look no more. Call after a
/// fence that follows the stop. @threads any
bool ws_next_left(struct ws_pool_s *pool, ws_task_t *task);

/// @brief The search that follows a yield of a fiber is over.
static inline void ws_forget_yield(ws_queue_t *queue)
{
  queue->oldest &= ~(uint32_t)WS_OLDEST_NEXT;
}

// Steal (ws_steal.c): take tasks out of the queues of other threads, without disturbing other thieves.

/// @brief Steal a task from another thread's queue: from the one that served last if the thread knows of a
/// task there, from other lanes, from other workers from near to far.
bool ws_steal(ws_search_t *search, ws_task_t *task);

/// @brief Of a wait: steal a task that was pushed by a task of its group, from the queue of the thread that
/// runs that one ("leapfrog": Wagner, Calder: Leapfrogging, PPoPP 1993).
bool ws_steal_below(ws_search_t *search, ws_task_t *task);

/// @brief Before a look at the queue that served last: not at once again. With tiny tasks a thief would
/// otherwise take the queue's lines from the thread that fills it, at every task.
void ws_make_no_haste(ws_queue_t *own);

#endif
