// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.h
/// Workers that are awake before the burst comes. docs/prewake.md explains the method; this is how it hangs
/// together:
///
///   a push after a pause     notes when it came (ws_prewake_arrived)
///   a worker that runs dry   tells the predictor, learns how late it was itself, and how long it shall look
///                            for more (ws_prewake_dry)
///   a worker that parks      plans when to get up by itself (ws_prewake_plan)
///   its timer                gets it up; it looks until the burst comes, or until it gives up
///
/// Nothing depends on it: a push wakes a worker where none is awake, whatever was predicted.
#ifndef WS_PREWAKE_H
#define WS_PREWAKE_H

#include "../pool/ws_types.h"

/// @brief Work has come after a pause; @p now_ns, or 0 = read the clock.
void ws_prewake_arrived(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief The worker has run out of work: learn, and set how long it shall look for more.
void ws_prewake_dry(ws_worker_t *worker, uint64_t now_ns);

/// @brief It goes to sleep: plan when it gets up by itself (worker->plan). @return that time, 0 = not at all
uint64_t ws_prewake_plan(ws_worker_t *worker);

/// @brief Its timer has ended its sleep. @return whether it may get up; then it must claim itself
bool ws_prewake_may_rise(ws_worker_t *worker);

/// @brief It will not get up by itself after all, or is awake: another may.
void ws_prewake_disarm(ws_worker_t *worker);

/// @return whether its timer is over, and it is on its way. For whoever has claimed it, before the token
bool ws_prewake_is_rising(const ws_worker_t *worker, uint64_t now_ns);

/// @brief It is awake.
void ws_prewake_woken(ws_worker_t *worker, ws_wake_by_t by);

/// @brief From now on the next push is the first after a pause.
void ws_prewake_quiet(struct ws_pool_s *pool);

#endif
