// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wake.h
/// Life of a task, step 3: wake. Which sleeping worker is woken, and when. Before: ws_push.c; after:
/// ws_find.c. How workers sleep without losing a wake: ws_park.h, PARK.md.
#ifndef WS_WAKE_H
#define WS_WAKE_H

#include "../pool/ws_types.h"

/// @brief Work is queued: wake one parked worker if nobody searches, and see to it that the guard stands.
/// Call after a fence that follows the publication of the work.
void ws_post(struct ws_pool_s *pool, ws_here_t here);

/// @brief See to it that the guard stands. Call after a fence that follows the publication of the work.
void ws_need_guard(struct ws_pool_s *pool);

/// @brief Wake one parked worker, if there is one and the cap on awake workers allows. Call as ws_post.
bool ws_wake_one(struct ws_pool_s *pool, ws_here_t here);

/// @brief A place among the awake workers has become free, or tasks could not be seen for a moment, and
/// others relied on the contrary: look whether a task waits, and wake a worker for it.
void ws_fill_place(struct ws_pool_s *pool, ws_here_t here);

/// @brief The worker has found work, and leaves searching: wake others for what else is queued. The last
/// searcher must look, because pushes relied on it.
void ws_search_found(ws_worker_t *worker);

/// @brief Take @p worker out of sleepers: from then on the caller owns that sleep's end.
/// @return whether the worker was there
bool ws_take_bit(struct ws_pool_s *pool, uint32_t worker);

/// @brief The same, and count the worker as searching. @return whether the caller did it, and so owes it a
/// token
bool ws_claim(struct ws_pool_s *pool, uint32_t worker);

/// @brief Give a claimed worker its token.
void ws_token(ws_worker_t *worker);

/// @brief Claim a parked worker and wake it, whatever the cap. @return whether there was one
bool ws_wake_sleeper(struct ws_pool_s *pool, ws_here_t here);

/// @return whether @p worker is parked and nobody has claimed it
bool ws_is_parked(const struct ws_pool_s *pool, uint32_t worker);

#endif
