// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.h
/// Life of a task, step 4: find. Before: ws_wake.h; after: ws_worker.c. ws_find.c chooses among the
/// searches below, ws_find_wait.c for a thread that waits.
#ifndef WS_FIND_H
#define WS_FIND_H

#include "../pool/ws_types.h"

/// @brief Find any task: own newest, then the queue that served last, other lanes, other workers from near to
/// far, the aside deques, the shared queue.
bool ws_find(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @return whether ws_find would probably find a task at once, without a look at many queues
bool ws_find_near(struct ws_pool_s *pool, ws_here_t here);

/// @brief Find a task of @p group in the caller's own queues, or one that was pushed there since the mark
/// was taken, when the join began: by a task of the group that the join has run, or by a descendant of it.
/// The mark of the caller's innermost wait is lowered when the queue gets shorter.
bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief A round of the wait is over, or a fiber has yielded in it: find the oldest task in the caller's own
/// queues that the wait may run, of each kind in turn (ws_dig.h). Begins a round.
bool ws_find_turn(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief The search that follows a yield of a fiber is over.
static inline void ws_forget_yield(ws_queue_t *queue)
{
  queue->oldest &= ~(uint32_t)WS_OLDEST_NEXT;
}

// Steal (ws_steal.c): take tasks out of the queues of other threads, without disturbing other thieves.

/// @brief Steal any task: from the queue that served last if the thread knows of a task there, from other
/// lanes, from other workers from near to far, or one that is in no thread's own queue.
bool ws_steal(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief Steal from queue @p victim of the pool, until it is empty or the caller has one task.
bool ws_steal_from(struct ws_pool_s *pool, ws_here_t here, uint32_t victim, ws_task_t *task);

/// @brief Steal a task that was pushed by a task of @p group, from the queue of the thread that runs that one
/// ("leapfrog": Wagner, Calder: Leapfrogging, PPoPP 1993).
bool ws_steal_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task that is stuck in an inbox.
bool ws_steal_stuck(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

/// @brief Take a task that is in no thread's own queue: in an aside deque, in the shared queue, or stuck in
/// an inbox.
bool ws_steal_stray(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

// Look elsewhere (ws_look.c): at the end of a round (ws_round.h) a task of another queue has its turn.
//
// Turns   Each look serves a place that has not been served for long. Looks alternate between the lanes, up
//         to 8 of them in turn at a look, and the other places, one at a look: each worker's queue twice,
//         then the aside deques, the shared queue and what is stuck in inboxes. If the first of the
//         two holds nothing the look goes on with the other.
// Bound   The oldest task of a lane is taken at the latest after 2 x (lanes) looks of any one worker that
//         always has tasks of its own; the oldest of another place after 2 x (2 x workers + 1).
// Leave   A worker that takes its own tasks is left alone unless it has more of them than the caller: a steal
//         from it would only move cache lines.

/// @brief A thread that goes from fiber to fiber has ended a round: choose the place of its next look.
/// @return whether another queue holds a task; the thread's next search takes it
/// @threads  the owner of here.queue
bool ws_look_ahead(struct ws_pool_s *pool, ws_here_t here);

/// @brief A search ends a round: look elsewhere or, each fourth time if the newest goes first, take the own
/// oldest task, which would wait without end, too. After a round in which fibers stopped, first the one, then
/// the other.
/// @return whether a task was taken; false = search as always
bool ws_look_turn(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

// Age (ws_age.c), in pools that use priorities: the task that has waited longest goes first if it has
// waited longer than settings.age_ns_max, whatever its priority. So each task runs, even if tasks of higher
// priority come without end.
//
// Cost    A look at all places costs the more, the more threads push. After a look that finds no task too
//         old, no thread looks for a sixteenth of the bound. In a pool that is late each look finds one: 16
//         of them may follow each other. From then on a thread looks once in as many searches as there are
//         places. In between it takes tasks that are too old from the place of the last look.
// Bound   So the task that has waited longest goes first, or, if a thread has taken more than 16 such tasks
//         without a break, after as many further searches of that thread as there are places.

/// @brief Take the task that has waited longest, if that is too long.
bool ws_age_take(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task);

// The queue that threads without a lane share (ws_laneless.c), for a thread that waits. A thread that has no
// lane in a pool runs its group's tasks from there while it waits. Otherwise settings.lanes would decide
// whether nested waits end: a worker of another pool that waits here may be the only thread that can run the
// task. A thread that has a lane looks there, too: it may have pushed the tasks before it got the lane.

/// @brief Take a task of @p group from the shared queue, wherever it lies there.
/// @param weak  or one with a weak tag of the group
/// @param seen  in and out: 0 at first. No task before this index is one that the caller could take: each
///              wait reads each task once
bool ws_laneless_find(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, bool weak,
                      uint64_t *seen, ws_task_t *task);

#endif
