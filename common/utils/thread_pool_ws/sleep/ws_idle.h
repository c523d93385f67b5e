// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_idle.h
/// Life of a task, step 8: a worker without work spins for a bounded time, then sleeps. Before:
/// ws_join.c; after: ws_prewake.h. PARK.md has the proof that no wake is lost; the counterpart is ws_wake.h.
///
/// With WS_SPIN_HOT idle workers busy-poll and do not sleep. Its limits:
/// Budget      Only as many workers of the process are awake as leave a CPU to other threads. The surplus
///             parks.
/// Producers   A worker that finds itself on a producer's CPU parks, moves off (ws_affinity.c) and goes on.
/// Real-time   A real-time worker sleeps for 0.1 ms in each millisecond. Threads of normal class that share
///             its CPU would otherwise never run.
/// Every sleeping worker of a hot pool has a timer and tries again. So no worker stays asleep while a CPU is
/// free for it, whatever made it park.
#ifndef WS_IDLE_H
#define WS_IDLE_H

#include "ws_budget.h"

/// @brief The worker's thread begins, before its first task.
void ws_idle_begin(ws_worker_t *worker);

/// @brief Spin for a bounded time until there is work. @p ran = the worker had work before.
/// @param counted  out: whether the process still counts the worker as awake
/// @return whether there is work; else the worker must call ws_park(), or end
bool ws_spin(ws_worker_t *worker, bool ran, bool *counted);

/// @brief The worker has found work after a search: learn how long it was without work.
void ws_spin_found(ws_worker_t *worker);

/// @brief The worker is parked from now on: it leaves its search and the CPU of a pushing thread, and gives
/// memory back.
/// @return the time, CLOCK_MONOTONIC
uint64_t ws_park_begin(ws_worker_t *worker);

/// How a sleep has ended. Times: CLOCK_MONOTONIC.
typedef struct {
  ws_wake_by_t by;
  uint64_t rose_ns; ///< when the worker ran again
  uint64_t called_ns; ///< when another thread called it; 0 = none did
} ws_slept_t;

/// @brief Sleep until claimed, or return at once when work is visible. The caller is counted in searching on
/// return. Call after ws_park_begin(). @param counted  what ws_spin() has returned
/// @param rise_ns  when to be awake for the next burst; 0 = no timer
ws_slept_t ws_park(ws_worker_t *worker, bool counted, uint64_t rise_ns);

/// @brief Until when ws_spin() may spin for what is expected.
static inline void ws_spin_until(ws_worker_t *worker, uint64_t until_ns)
{
  ws_sleep_worker(worker)->spin.until_ns = until_ns;
}

static inline bool ws_is_hot(const struct ws_pool_s *pool)
{
  return ws_spin_mode(pool) == WS_SPIN_HOT;
}

/// @brief The calling worker is in @p state from @p now_ns on: for the statistics. Costs a few stores to the
/// worker's own lines.
static inline void ws_state_enter(ws_worker_t *worker, ws_worker_state_t state, uint64_t now_ns)
{
  ws_sleep_worker_t *its = ws_sleep_worker(worker);
  const uint32_t before = ws_own_load(&its->spent.state);
  ws_count(&its->spent.ns[before], now_ns - ws_own_load(&its->spent.since_ns));
  ws_stat_store(&its->spent.since_ns, now_ns);
  ws_stat_store(&its->spent.state, state);
}

/// @brief The worker has set its bit in sleepers. @return when it tries again; 0 = not hot
uint64_t ws_hot_retry_ns(const ws_worker_t *worker);

/// @brief The worker has tried, and may not spin yet. @return when it tries next; 0 = not hot any more
/// All sleeping workers of a pool together try 250 times a second.
uint64_t ws_hot_later_ns(const struct ws_pool_s *pool);

#endif
