// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_budget.c
/// ws_budget.h.
#include "ws_budget.h"

#include "../pool/ws_process.h"

/// The bound on a worker's spinning (spin_cpu_max_percent) holds over any few times this.
#define ALLOWANCE_NS 10000000

uint32_t ws_working(const struct ws_pool_s *pool)
{
  const uint32_t awake = ws_awake(pool);
  const ws_sleep_pool_t *its = ws_sleep_pool(pool);
  const uint32_t away = ws_hint_load(&its->blocked) + ws_hint_load(&its->starved);
  return awake > away ? awake - away : 0;
}

uint32_t ws_outside(const struct ws_pool_s *pool)
{
  const uint32_t helpers = ws_hint_load(&ws_sleep_pool(pool)->helpers);
  const uint32_t hinted = ws_hint_load(&ws_sleep_pool(pool)->outside);
  return helpers > hinted ? helpers : hinted;
}

uint32_t ws_awake_limit_beside(const struct ws_pool_s *pool, uint32_t outside)
{
  const uint32_t limit = pool->cpus > outside ? pool->cpus - outside : 1;
  const uint32_t cap = ws_hint_load(&ws_sleep_pool(pool)->cap);
  const uint32_t most = cap < pool->worker_cpus ? cap : pool->worker_cpus;
  return limit < most ? limit : most;
}

uint32_t ws_awake_limit(const struct ws_pool_s *pool)
{
  if (ws_hint_load(&ws_sleep_pool(pool)->cap) == 0 || ws_hint_load(&ws_sleep_pool(pool)->lifted))
    return pool->workers;
  return ws_awake_limit_beside(pool, ws_outside(pool));
}

uint32_t ws_awake_cap(const struct ws_pool_s *pool)
{
  const uint32_t cap = ws_hint_load(&ws_sleep_pool(pool)->cap);
  return cap < pool->workers ? cap : 0;
}

void ws_awake_cap_set(struct ws_pool_s *pool, uint32_t cap)
{
  ws_hint_store(&ws_sleep_pool(pool)->cap, cap == 0 && ws_sleep_pool(pool)->capped ? pool->workers : cap);
}

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
  const ws_sleep_worker_t *its = ws_sleep_worker(worker);
  const int64_t percent = ws_spin_percent(worker->pool), most_ns = ALLOWANCE_NS / 100 * percent;
  const uint64_t passed_ns = later_ns - its->spin.allowed_ns;
  const int64_t granted_ns = passed_ns >= ALLOWANCE_NS ? 2 * most_ns : (int64_t)passed_ns * percent / 100;
  return its->spin.allowance_ns + granted_ns < most_ns ? its->spin.allowance_ns + granted_ns : most_ns;
}

int64_t ws_spin_allow(ws_worker_t *worker, uint64_t now_ns)
{
  ws_sleep_worker_t *its = ws_sleep_worker(worker);
  its->spin.allowance_ns = ws_spin_forecast(worker, now_ns);
  its->spin.allowed_ns = now_ns;
  return its->spin.allowance_ns;
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

void ws_sleep_add_stats(const struct ws_pool_s *pool, ws_stats_t *stats)
{
  const ws_sleep_pool_t *its = ws_sleep_pool(pool);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  stats->guard_looks = ws_stat_load(&its->count.guard_looks);
  stats->spared_wakes = ws_stat_load(&its->count.spared_wakes);
  stats->starved_searches = ws_stat_load(&its->count.starved_searches);
  for (uint32_t why = 0; why < WS_DECISIONS; why++) {
    stats->decided[why] = ws_stat_load(&its->count.decided[why]);
    for (uint32_t i = 0; i < queues; i++)
      stats->decided[why] += ws_stat_load(&pool->tasks.queue[i]->count.decided[why]);
  }
}

/// The worker may change its state meanwhile: then the present state's time is about right.
void ws_sleep_add_states(const ws_worker_t *worker, bool running, ws_worker_stats_t *stats)
{
  const ws_sleep_worker_t *its = ws_sleep_worker(worker);
  const uint32_t state = ws_stat_load(&its->spent.state);
  const uint64_t since_ns = ws_stat_load(&its->spent.since_ns);
  for (uint32_t i = 0; i < WS_WORKER_STATES; i++)
    stats->state_ns[i] = ws_stat_load(&its->spent.ns[i]);
  if (!running || since_ns == 0)
    return;
  const uint64_t now_ns = ws_os_now_ns();
  stats->state = (ws_worker_state_t)state;
  stats->state_ns[state] += (int64_t)(now_ns - since_ns) > 0 ? now_ns - since_ns : 0;
}
