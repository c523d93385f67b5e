// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_budget.c
/// ws_budget.h.
#include "ws_budget.h"

#include "../pool/ws_process.h"

/// The bound on a worker's spinning (spin_cpu_max_percent) holds over any few times this.
#define ALLOWANCE_NS 10000000

uint32_t ws_spin_limit(const struct ws_pool_s *pool)
{
  const uint32_t others = ws_hint_load(&ws_process.helpers) > 1 ? ws_hint_load(&ws_process.helpers) : 1;
  const uint32_t cpus = ws_hint_load(&ws_sleep_pool(pool)->spin_cpus);
  return cpus > others ? cpus - others : 0;
}

bool ws_may_spin(const struct ws_pool_s *pool, uint32_t more)
{
  return pool->cpus > 1 && ws_hint_load(&ws_process.awake) + more <= ws_spin_limit(pool)
         && ws_hint_load(&pool->state) == WS_RUNNING; // looked at again before sleep
}

int64_t ws_spin_forecast(const ws_worker_t *worker, uint64_t later_ns)
{
  const ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  const int64_t percent = ws_spin_percent(worker->pool), most_ns = ALLOWANCE_NS / 100 * percent;
  const uint64_t passed_ns = later_ns - sleep->spin.allowed_ns;
  // twice: from the greatest debt to the greatest allowance
  const int64_t granted_ns = passed_ns >= ALLOWANCE_NS ? 2 * most_ns : (int64_t)passed_ns * percent / 100;
  return sleep->spin.allowance_ns + granted_ns < most_ns ? sleep->spin.allowance_ns + granted_ns : most_ns;
}

int64_t ws_spin_allow(ws_worker_t *worker, uint64_t now_ns)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  sleep->spin.allowance_ns = ws_spin_forecast(worker, now_ns);
  sleep->spin.allowed_ns = now_ns;
  return sleep->spin.allowance_ns;
}

/// CPU time of a sleep and a wake, as a multiple of the call's: the worker's two switches take about as long.
#define WAKE_CALLS 2u
/// Part of a spin that is charged at least, or a stream of tasks could keep a worker awake without end, and
/// so keep other threads off its CPU.
#define LEAST_PART 3u

void ws_spin_pay(ws_worker_t *worker, uint64_t spun_ns, bool found)
{
  int64_t *left_ns = &ws_sleep_worker(worker)->spin.allowance_ns;
  const uint64_t saved_ns = found ? WAKE_CALLS * ws_call_ns(worker->pool) : 0;
  const uint64_t saved_ns_max = spun_ns - spun_ns / LEAST_PART;
  const uint64_t cost_ns = spun_ns - (saved_ns < saved_ns_max ? saved_ns : saved_ns_max);
  const int64_t least_ns = -ALLOWANCE_NS / 100 * (int64_t)ws_spin_percent(worker->pool);
  *left_ns = *left_ns - (int64_t)cost_ns > least_ns ? *left_ns - (int64_t)cost_ns : least_ns;
}
