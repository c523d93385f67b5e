// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_park.h
/// Life of a task, step 3: wake. How workers sleep without losing a wake, and who is woken when. PARK.md has
/// the proof. Before: ws_push.c; after: ws_find.c.
#ifndef WS_PARK_H
#define WS_PARK_H

#include "ws_types.h"

/// A parked guard looks this often whether tasks wait behind blocked workers: one period, and a wake, must
/// fit in the promised 1 ms.
#define WS_GUARD_PERIOD_NS 700000u
/// Looks without anything to see after which the guard sleeps without a timer: about 10 ms.
#define WS_GUARD_QUIET_POLLS 15u
/// Time that a parked worker waits before it gives memory of grown queues back to the kernel.
#define WS_TRIM_AFTER_NS 50000000u

/// @return whether any queue of the pool holds a task. Call after a seq_cst fence to decide about sleep
bool ws_work_visible(struct ws_pool_s *pool);

/// @brief Wake one parked worker, if there is one and the cap on awake workers allows; otherwise see to it
/// that a guard stands. Call after a fence that follows the publication of work.
void ws_wake_one(struct ws_pool_s *pool, ws_here_t here);

/// @brief Workers that may be awake now: CPUs less those that threads outside use; all when their tasks
/// block.
uint32_t ws_awake_limit(const struct ws_pool_s *pool);

/// @brief Was a thread that pushes to this pool last seen on @p cpu?
bool ws_producer_on_cpu(struct ws_pool_s *pool, int32_t cpu);

/// @brief Workers awake and not blocked in a join.
uint32_t ws_working(const struct ws_pool_s *pool);

/// @brief Sleep until claimed, or return at once when work is visible. The caller is counted in searching on
/// return.
void ws_park(ws_worker_t *worker);

/// @brief Begin or end to be counted in searching. The last searcher that found work wakes the next worker.
void ws_search_begin(ws_worker_t *worker);
void ws_search_found(ws_worker_t *worker);

/// @brief Take @p worker out of sleepers. @return whether the caller did it, and so owes it a token
bool ws_claim(struct ws_pool_s *pool, uint32_t worker);

/// @brief Give a claimed worker its token.
void ws_token(ws_worker_t *worker, uint32_t bit);

/// @brief A thread from outside is, or is no longer, awake in a join: it needs a CPU.
void ws_helper_begin(struct ws_pool_s *pool, ws_queue_t *lane);
void ws_helper_end(struct ws_pool_s *pool);

/// @brief Hand the caller's place to another worker while it sleeps in a join, and take it back.
void ws_block_begin(struct ws_pool_s *pool, ws_here_t here);
void ws_block_end(struct ws_pool_s *pool, ws_here_t here);

// ws_guard.c
/// @brief One look of the guard. @return true when it claimed itself: tasks wait and nobody else will run
/// them
bool ws_guard_poll(ws_worker_t *worker, uint32_t *quiet);
/// @brief Appoint a parked worker as guard if none stands.
void ws_guard_appoint(struct ws_pool_s *pool);
/// @brief Become the guard if none stands. The caller is parked.
void ws_guard_volunteer(ws_worker_t *worker);
/// @brief Stop being the guard. The caller is awake.
void ws_guard_resign(ws_worker_t *worker);

static inline bool ws_is_guard(const ws_worker_t *worker)
{
  return ws_load_relaxed(&worker->pool->guard) == worker->index + 1; // relaxed: after the token, or a fence
}

#endif
