// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_search.h
/// Which workers pushes rely on. A push wakes no worker while a worker searches, so a counted worker must
/// look at every queue. A counted worker may get no CPU: the guard then stops relying on it (PARK.md, "A
/// searcher without a CPU").
#ifndef WS_SEARCH_H
#define WS_SEARCH_H

#include "../pool/ws_types.h"

/// @brief Count the calling worker in pool->searching, unless it is counted. A worker that the guard has
/// taken off is counted again.
void ws_search_begin(ws_worker_t *worker);

/// @brief Count a worker that the caller has claimed, on its behalf: it will look.
/// @threads  the claimer, before it gives the token
void ws_search_claimed(ws_worker_t *worker);

/// @brief The calling worker stops searching.
/// @return the workers counted before, this one included; 0 if it was not counted any more
uint32_t ws_search_leave(ws_worker_t *worker);

/// @brief The worker gets no CPU: take it off the count, and prefer other workers for some time. The caller
/// must look at the queues afterwards, in the worker's place.
/// @return whether it was counted
/// @threads  the guard
bool ws_search_starved(ws_worker_t *worker);

/// @return whether others are to be woken before the worker, because it got no CPU lately. Only a preference
bool ws_search_is_shunned(const ws_worker_t *worker, uint64_t now_ns);

#endif
