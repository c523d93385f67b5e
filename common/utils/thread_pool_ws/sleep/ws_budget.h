// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_budget.h
/// The budget of spinning: how many workers of the process may spin, and for how long one worker may.
#ifndef WS_BUDGET_H
#define WS_BUDGET_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// @return the workers of the process that may be awake while one of the pool spins
uint32_t ws_spin_limit(const struct ws_pool_s *pool);

/// @brief May a worker spin for one more iteration? The awake workers of all pools together must leave one
/// CPU to each thread outside that helps, and at least one CPU in all. None may once the pool stops, or if
/// the pool has one CPU.
/// @param more  workers that would be awake, too: 0 = the caller, which is awake, spins
bool ws_may_spin(const struct ws_pool_s *pool, uint32_t more);

/// @return the time that the worker may spin at @p now_ns; 0 or less = none. The share of
///         spin_cpu_max_percent that was not used since the last call is saved up, for at most 10 ms
int64_t ws_spin_allow(ws_worker_t *worker, uint64_t now_ns);

/// @return what ws_spin_allow() would return at @p later_ns if the worker did not spin until then, about.
///         Changes nothing
int64_t ws_spin_forecast(const ws_worker_t *worker, uint64_t later_ns);

/// @brief The worker has spun for @p spun_ns, which may include time in which other threads had the CPU:
/// charge it. The debt is at most what 10 ms allow: so a process that was stopped does not pay for the stop.
/// A spin that @p found work counts as if it had saved a sleep and a wake, also where another worker takes
/// the task. The CPU time of these two is not charged, but a third of the spin is charged at least.
void ws_spin_pay(ws_worker_t *worker, uint64_t spun_ns, bool found);

/// @return whether a thread that waits in @p pool may spin: one CPU is left for the tasks that it waits for
static inline bool ws_helper_may_spin(const struct ws_pool_s *pool)
{
  return ws_hint_load(&ws_sleep_pool(pool)->spin_cpus) > 1;
}

// Settings that may change while the pool runs (ws_pool_set_spin()), and a measurement.

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
