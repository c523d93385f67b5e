// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_idle.h
/// Life of a task, step 8: a worker without work spins for a bounded time, then sleeps. Before:
/// ws_join.c; after: ws_prewake.h. PARK.md has the proof that no wake is lost; the counterpart is ws_wake.h.
///
/// With WS_SPIN_HOT idle workers busy-poll and do not sleep. Its limits:
/// Budget      Only as many workers of the process are awake as leave a CPU to other threads. The surplus
///             parks.
/// Producers   A worker that finds itself on a producer's CPU parks, moves off (ws_place.c) and goes on.
/// Real-time   A real-time worker sleeps for 0.1 ms in each millisecond. Threads of normal class that share
///             its CPU would otherwise never run.
/// Every sleeping worker of a hot pool has a timer and tries again. So no worker stays asleep while a CPU is
/// free for it, whatever made it park.
#ifndef WS_IDLE_H
#define WS_IDLE_H

#include "../pool/ws_types.h"

/// @brief Spin for a bounded time until there is work. @p ran = the worker had work before.
/// @param counted  out: whether the process still counts the worker as awake
/// @return whether there is work; else the worker must call ws_park(), or end
bool ws_spin(ws_worker_t *worker, bool ran, bool *counted);

/// @brief The worker has found work after a search: learn how long it was without work.
void ws_spin_found(ws_worker_t *worker);

/// @brief Sleep until claimed, or return at once when work is visible. The caller is counted in searching on
/// return. @param counted  what ws_spin() has returned
void ws_park(ws_worker_t *worker, bool counted);

static inline bool ws_is_hot(const struct ws_pool_s *pool)
{
  return ws_hint_load(&pool->spin) == WS_SPIN_HOT;
}

/// @brief The worker has set its bit in sleepers. @return when it tries again; 0 = not hot
uint64_t ws_hot_retry_ns(const ws_worker_t *worker);

/// @brief The worker has tried, and may not spin yet. @return when it tries next; 0 = not hot any more
/// All sleeping workers of a pool together try 250 times a second.
uint64_t ws_hot_later_ns(const struct ws_pool_s *pool);

#endif
