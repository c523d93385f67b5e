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

/// @brief The worker's thread begins, before its first task: note whether it may be moved, and the time.
void ws_idle_prepare(ws_worker_t *worker);

/// A worker that is idle, from its last task to the next one that it finds. On the stack of its loop. Times:
/// CLOCK_MONOTONIC.
typedef struct ws_idle_s {
  bool counted; ///< the process counts the worker as awake
  uint64_t now_ns; ///< the clock, as last read
  uint64_t until_ns; ///< the worker may spin until then for what pre-wake expects
  uint64_t called_ns; ///< when another thread has called the worker for its next search; 0 = none has
} ws_idle_t;

/// @brief The worker has found no task, and is idle. @param ran  it has run tasks: learn from them. Else its
/// thread has just begun.
ws_idle_t ws_idle_begin(ws_worker_t *worker, bool ran);

/// @brief Spin until there is work, for a bounded time, or with WS_SPIN_HOT until the CPU is needed
/// elsewhere.
/// @return whether there is work: search for it. Else, also at once if it may not spin, the worker must call
/// ws_park(), or end
bool ws_spin(ws_worker_t *worker, ws_idle_t *idle);

/// @brief Sleep until claimed, by another thread or by an own timer. Returns at once when work is visible, or
/// the pool has stopped. The caller leaves its search, may leave the CPU of a pushing thread, and gives
/// memory back. On return it is counted in searching: it must search. Sets all of @p idle but now_ns.
void ws_park(ws_worker_t *worker, ws_idle_t *idle);

/// @brief The search after ws_spin() or ws_park() has found no task.
void ws_idle_go_on(ws_idle_t *idle);

/// @brief If the worker is idle: it has found work, or will wait for a dispatcher. Learn how long it was
/// idle, and end its search (ws_search_found()).
/// @param idle  in and out: *idle is NULL if it is not idle, or not any more
/// @return whether it was
bool ws_idle_end(ws_worker_t *worker, ws_idle_t **idle);

static inline bool ws_is_hot(const struct ws_pool_s *pool)
{
  return ws_spin_mode(pool) == WS_SPIN_HOT;
}

/// @brief The calling worker is in @p state from @p now_ns on: for the statistics. Costs a few stores to the
/// worker's own lines.
static inline void ws_state_enter(ws_worker_t *worker, ws_worker_state_t state, uint64_t now_ns)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  const uint32_t before = ws_own_load(&sleep->spent.state);
  ws_count(&sleep->spent.ns[before], now_ns - ws_own_load(&sleep->spent.since_ns));
  ws_stat_store(&sleep->spent.since_ns, now_ns);
  ws_stat_store(&sleep->spent.state, state);
}

/// @brief The worker has set its bit in sleepers. @return when its timer has it try to spin again, maybe at
/// once; 0 = not hot, or not RUNNING
uint64_t ws_hot_retry_ns(const ws_worker_t *worker);

/// @brief The worker has tried, and may not spin yet. @return when it tries next; 0 = not hot, or not RUNNING
/// All sleeping workers of a pool together try 250 times a second.
uint64_t ws_hot_later_ns(const struct ws_pool_s *pool);

#endif
