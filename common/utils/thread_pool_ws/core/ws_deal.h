// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_deal.h
/// Life of a task, step 4 in wide pools: workers that come back together, and find tasks in one lane.
///
/// Why        Each steal takes the line of the deque's top from another thief, twice. If 40 workers steal
///            from one lane, a steal takes 0.9 us, one after the other. Here one of them deals: it mostly
///            keeps that line, and hands the oldest tasks to the others, which wait in their inboxes.
/// Roles      A worker that finds tasks in a lane becomes its dealer if there is none, else it waits. The
///            dealer hands out tasks while workers wait, then takes one for itself. It serves workers that
///            wait for the dealer of another lane as well.
/// Order      Tasks of a lane begin in the order in which they were pushed, as without a dealer: a task is
///            handed only to a worker that waits (docs/decisions/018). If several of those leave meanwhile,
///            the dealer puts their tasks into its own queue, and younger ones may begin first.
/// Bounds     A worker waits for WAIT_NS_MAX at most, and then deals itself. So no worker depends on a dealer
///            that has lost its CPU: that there is one dealer is a preference. A task that was dealt to a
///            worker without a CPU is found by the guard (ws_inbox.h). A dealer hands out DEALT_MAX tasks at
///            most before it runs one. TAKEN_MAX of them wait for its CPU, if it loses that in between.
/// Not        While tasks lie in queues that all threads share, for tiny tasks, and for workers with tasks of
///            their own.
/// Circles    Those that wait set their bits in several masks, by last-level cache, so that they do not all
///            contend for one line.
#ifndef WS_DEAL_H
#define WS_DEAL_H

#include "../pool/ws_types.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../wide/ws_inbox.h"

/// @return how many circles a pool has; 0 = it is small, and its workers do not deal
uint32_t ws_deal_circles(uint32_t workers);

/// @return whether the caller deals, or waits, when it wants a task of queue @p victim
static inline bool ws_deal_serves(const struct ws_pool_s *pool, ws_here_t here, uint32_t victim)
{
  return pool->tasks.circles > 0 && victim >= pool->workers && here.worker
         && ws_deque_size(&here.queue->deque) == 0 && ws_shared_count(&pool->tasks) == 0
         && !ws_inbox_is_claimed(&here.worker->inbox);
}

/// @return whether a worker deals the tasks of @p queue
static inline bool ws_deal_is_on(const ws_queue_t *queue)
{
  return ws_hint_load(&queue->dealt) != 0;
}

/// @brief Take a task of @p lane, as its dealer or from a dealer. Meanwhile the tasks that the caller has run
/// are completed. @return false = the lane seems to be empty
/// @threads  workers, in no task
bool ws_deal(struct ws_pool_s *pool, ws_here_t here, uint32_t lane, ws_task_t *task);

/// @return 1 + the lane whose tasks a worker deals, or dealt last; 0 = none, or that lane is empty
static inline uint32_t ws_deal_lane(const struct ws_pool_s *pool)
{
  return WS_LIKELY(pool->tasks.circles == 0) ? 0 : ws_hint_load(&pool->tasks.dealing);
}

/// @brief Forget the lane if it is empty.
static inline void ws_deal_forget(struct ws_pool_s *pool, uint32_t lane)
{
  if (ws_deque_size(&pool->tasks.queue[lane]->deque) == 0 && ws_hint_load(&pool->tasks.dealing) == lane + 1)
    ws_hint_store(&pool->tasks.dealing, 0);
}

#endif
