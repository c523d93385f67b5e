// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_budget.h
/// Budgets: how many workers may be awake, how many may spin, and for how long one worker may spin.
///
/// Seats (ws_helper.c): on which pools' account the calling thread uses a CPU. A worker has a seat in its
/// own pool. A thread that runs tasks of another pool while it waits there, a helper, has one in each such
/// pool. A seat is awake or rests. All seats of a thread rest while the thread sleeps, or blocks, in any
/// pool; each pool may then wake another worker.
#ifndef WS_BUDGET_H
#define WS_BUDGET_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// @return workers that do not sleep for want of work
static inline uint32_t ws_awake(const struct ws_pool_s *pool)
{
  uint32_t asleep = 0;
  for (uint32_t i = 0; i < pool->tasks.mask_words; i++)
    asleep += (uint32_t)__builtin_popcountll(ws_hint_load(&ws_sleep_pool(pool)->sleepers[i]));
  return pool->workers - asleep;
}

/// @return workers awake and not blocked in a join
uint32_t ws_working(const struct ws_pool_s *pool);

/// @return the cap: workers that may be awake now. The CPUs less those that threads outside use; all workers
///         while tasks block
uint32_t ws_awake_limit(const struct ws_pool_s *pool);

/// @return threads outside that are thought to need a CPU: they help, or push
uint32_t ws_outside(const struct ws_pool_s *pool);

/// @return the cap of a pool whose cap is not lifted, if @p outside threads outside need a CPU
uint32_t ws_awake_limit_beside(const struct ws_pool_s *pool, uint32_t outside);

/// @return the cap that was set while the pool runs; 0 = none
uint32_t ws_awake_cap(const struct ws_pool_s *pool);

/// @brief Bound the awake workers further, or not (0), as long as no tasks block. A preference, too.
void ws_awake_cap_set(struct ws_pool_s *pool, uint32_t cap);

/// @return the workers of the process that may be awake while one of the pool spins
uint32_t ws_spin_limit(const struct ws_pool_s *pool);

/// @brief May a worker spin for one more iteration? The awake workers of all pools together must leave one
/// CPU to each thread outside that helps, and at least one CPU in all. @param more  workers that wake, too
bool ws_may_spin(const struct ws_pool_s *pool, uint32_t more);

/// @return the time that the worker may spin at @p now_ns; 0 or less = none. The share of
///         spin_cpu_max_percent that was not used since the last call is saved up, for at most 10 ms
int64_t ws_spin_allow(ws_worker_t *worker, uint64_t now_ns);

/// @return the same at the later time @p later_ns, approximately
int64_t ws_spin_forecast(const ws_worker_t *worker, uint64_t later_ns);

/// @brief The worker has spun for @p spun_ns. Time in which other threads had the CPU counts up to a bound
/// only: a process that was stopped is not charged for the stop. A spin that @p found work counts as if
/// it had saved a sleep and a wake, also where another worker takes the task. Their CPU time is not charged,
/// but a third of the spin is charged at least.
void ws_spin_pay(ws_worker_t *worker, uint64_t spun_ns, bool found);

/// @brief Take a seat in @p pool. A worker of it, a thread without a lane, and a thread that has a seat
/// there already take none. Workers that the caller has reserved (ws_inbox.h) are declined.
/// @return whether the caller took a seat, and must call ws_helper_end()
bool ws_helper_begin(struct ws_pool_s *pool, ws_here_t here);

/// @brief A worker does not run, and does not sleep for want of work: it blocks, or its start is late.
void ws_worker_blocks(struct ws_pool_s *pool);

/// @brief It goes on.
void ws_worker_goes_on(struct ws_pool_s *pool);

/// @brief Leave the seat that was taken last.
void ws_helper_end(struct ws_pool_s *pool, ws_here_t here);

/// @return whether a thread that waits in @p pool may spin: one CPU is left for the tasks that it waits for
static inline bool ws_helper_may_spin(const struct ws_pool_s *pool)
{
  return ws_hint_load(&ws_sleep_pool(pool)->spin_cpus) > 1;
}

// For the statistics.

/// @brief Fill in the counters of this room.
void ws_sleep_add_stats(const struct ws_pool_s *pool, ws_stats_t *stats);

/// @brief Fill in the worker's state, and its time in each.
void ws_sleep_add_states(const ws_worker_t *worker, bool running, ws_worker_stats_t *stats);

// Settings that may change while the pool runs (ws_hint.c), and a measurement.

static inline ws_spin_t ws_spin_mode(const struct ws_pool_s *pool)
{
  return (ws_spin_t)ws_hint_load(&ws_sleep_pool(pool)->spin);
}

static inline uint64_t ws_spin_lead_ns(const struct ws_pool_s *pool)
{
  return ws_hint_load(&ws_sleep_pool(pool)->spin_lead_ns);
}

static inline uint32_t ws_spin_percent(const struct ws_pool_s *pool)
{
  return ws_hint_load(&ws_sleep_pool(pool)->spin_percent);
}

/// @return time that the call which wakes a worker takes its caller, a mean; 0 = not known yet
static inline uint64_t ws_call_ns(const struct ws_pool_s *pool)
{
  return ws_stat_load(&ws_sleep_pool(pool)->call_ns);
}

#endif
