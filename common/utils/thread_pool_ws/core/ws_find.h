// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.h
/// Life of a task, step 4: find. Before: ws_wake.h; after: ws_worker.c. ws_find.c chooses among the
/// searches below, ws_find_wait.c for a thread that waits.
#ifndef WS_FIND_H
#define WS_FIND_H

#include "../pool/ws_types.h"

/// @brief Find any task: own newest, then the queue that served last, other lanes, other workers from near to
/// far. While tasks lie in queues that all threads share: high priority, own newest, the own node, other
/// threads, the overflow queue, other nodes from near to far, low priority.
bool ws_find(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @return whether ws_find would probably find a task at once, without a look at many queues
bool ws_find_near(struct ws_pool_s *pool, ws_here_t here);

/// @brief Find a task of @p group in the caller's own queue, or one that was pushed there since the mark
/// was taken, when the join began: by a task of the group that the join has run, or by a descendant of it.
/// The mark of the caller's innermost wait is lowered when the queue gets shorter.
bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief A round of the wait is over, or a fiber has yielded in it: find the oldest task in the caller's own
/// queue that the wait may run (ws_dig.h). Begins a round.
bool ws_find_turn(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief The search that follows a yield of a fiber is over.
static inline void ws_forget_yield(ws_queue_t *queue)
{
  queue->oldest &= ~(uint32_t)WS_OLDEST_NEXT;
}

// Steal (ws_steal.c): take tasks out of the queues of other threads, without disturbing other thieves.

/// @brief Steal a task from another thread's queue: from the one that served last if the thread knows of a
/// task there, from other lanes, from other workers from near to far.
bool ws_steal(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief Steal a task that was pushed by a task of @p group, from the queue of the thread that runs that one
/// ("leapfrog": Wagner, Calder: Leapfrogging, PPoPP 1993).
bool ws_steal_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task that is stuck in an inbox.
bool ws_steal_stuck(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

// The fairness tick (ws_tick.c): the last search of a round (ws_round.h) serves a place whose turn it is, the
// oldest task there. So each task runs, even if tasks of higher priority, or in the own queue, never run out.
//
// Turns   The places follow each other as in ws_places.h: lanes, workers' queues, the queues that all threads
//         share, one for each kind, and inboxes with a task that is stuck. Each thread goes round by itself,
//         and passes over empty places, 8 in a tick at most. The own queue has its turn, too: the next search
//         is a further tick then, so the others do not wait longer.
// Bound   Of P places at most H hold tasks. The oldest task of each is taken at the latest after
//         61 x (H + P / 8 + 1) searches of any one thread. P is workers + lanes in use + 3 + nodes, and
//         workers more while a task is stuck in an inbox. A pool without several nodes has none of them.

/// @brief A search ends a round: take the oldest task of the place whose turn it is.
/// @return false = search as always
bool ws_tick(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief A thread that goes from fiber to fiber has ended a round.
/// @return whether another place holds a task; the next search is a tick, and takes it
/// @threads  the owner of @p own
bool ws_tick_ahead(struct ws_pool_s *pool, ws_queue_t *own);

#endif
