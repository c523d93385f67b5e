// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_park.h
/// Life of a task, step 3: wake. How workers sleep without losing a wake, and who is woken when. PARK.md has
/// the proof. Before: ws_push.c; after: ws_find.c.
#ifndef WS_PARK_H
#define WS_PARK_H

#include "../pool/ws_types.h"

/// Time that a parked worker waits before it gives memory of grown queues back to the kernel.
#define WS_TRIM_AFTER_NS 50000000u

/// @return whether any queue of the pool holds a task. Call after a seq_cst fence to decide about sleep
bool ws_work_visible(struct ws_pool_s *pool);

/// @return tasks in all queues, about
uint64_t ws_queued(struct ws_pool_s *pool);

/// @brief Work is queued: wake one parked worker if nobody searches, and see to it that the guard stands.
/// Call after a fence that follows the publication of the work.
void ws_post(struct ws_pool_s *pool, ws_here_t here);

/// @brief See to it that the guard stands. Call after a fence that follows the publication of the work.
void ws_need_guard(struct ws_pool_s *pool);

/// @brief Wake one parked worker, if there is one and the cap on awake workers allows. Call as ws_post.
bool ws_wake_one(struct ws_pool_s *pool, ws_here_t here);

/// @brief Workers that may be awake now: CPUs less those that threads outside use; all when their tasks
/// block.
uint32_t ws_awake_limit(const struct ws_pool_s *pool);

/// @return the workers of the process that may be awake while one of the pool spins
uint32_t ws_spin_limit(const struct ws_pool_s *pool);

/// @brief May one more turn be spun? The awake workers of all pools together must leave a CPU to each thread
/// outside that helps, and at least one to everybody else.
bool ws_may_spin(const struct ws_pool_s *pool);

/// @brief The same if @p more workers were awake.
bool ws_may_spin_beside(const struct ws_pool_s *pool, uint32_t more);

/// @brief Workers awake and not blocked in a join.
uint32_t ws_working(const struct ws_pool_s *pool);

/// @brief Sleep until claimed, or return at once when work is visible. The caller is counted in searching on
/// return.
void ws_park(ws_worker_t *worker);

/// @brief A place among the awake workers has become free, or tasks could not be seen for a moment, and
/// others relied on the contrary: look whether a task waits, and wake a worker for it.
void ws_fill_place(struct ws_pool_s *pool, ws_here_t here);

/// @brief The worker has found work, and leaves searching: wake others for what else is queued. The last
/// searcher must look, because pushes relied on it.
void ws_search_found(ws_worker_t *worker);

/// @brief Take @p worker out of sleepers. @return whether the caller did it, and so owes it a token
bool ws_claim(struct ws_pool_s *pool, uint32_t worker);

/// @brief Give a claimed worker its token.
void ws_token(ws_worker_t *worker);

/// @brief Claim a parked worker and wake it, whatever the cap. @return whether there was one
bool ws_wake_sleeper(struct ws_pool_s *pool, ws_here_t here);

/// @return whether @p worker is parked and nobody has claimed it
bool ws_is_parked(const struct ws_pool_s *pool, uint32_t worker);

/// @brief Shrink the caller's grown queue if it is empty; a worker gives the memory back after a while.
void ws_give_back(struct ws_pool_s *pool, ws_here_t here);

#endif
