// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.c
/// Wake workers before there is work for them: a parked worker's CPU takes 20 to 100 us to wake, which then
/// passes while the producer still prepares the burst.
#include "ws_lane.h"
#include "ws_park.h"

#define WITHIN_NS_MAX 100000000u

void ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns)
{
  const ws_here_t here = ws_here_known(pool);
  const uint64_t until_ns = ws_os_now_ns() + (within_ns < WITHIN_NS_MAX ? within_ns : WITHIN_NS_MAX);
  if (until_ns > ws_load_relaxed(&pool->announced_ns)) // relaxed: a budget; of two at once one may win
    ws_store_relaxed(&pool->announced_ns, until_ns); // relaxed: a budget
  ws_note_outside(pool, here); // the thread that announces will push
  while (ws_load_relaxed(&pool->searching) < workers // relaxed: a preference
         && ws_working(pool) < ws_awake_limit(pool) && ws_wake_sleeper(pool, here))
    ;
}

void ws_pool_prewake_at(ws_pool_t *pool, uint32_t workers, uint64_t at_ns)
{
  const uint64_t now_ns = ws_os_now_ns();
  ws_pool_prewake(pool, workers, at_ns > now_ns ? at_ns - now_ns : 0);
}

void ws_pool_phase_begin(ws_pool_t *pool, uint32_t workers)
{
  ws_pool_prewake(pool, workers, WITHIN_NS_MAX);
}

void ws_pool_phase_end(ws_pool_t *pool)
{
  ws_store_relaxed(&pool->announced_ns, 0); // relaxed: a budget
}

int ws_pool_set_spin(ws_pool_t *pool, ws_spin_t spin, uint64_t lead_ns)
{
  pool->settings.spin = spin;
  pool->settings.spin_lead_ns = lead_ns;
  return 0;
}

int ws_pool_set_spin_cpu_max(ws_pool_t *pool, uint32_t percent)
{
  pool->settings.spin_cpu_max_percent = percent;
  return 0;
}

void ws_pool_prewake_stats(ws_pool_t *pool, ws_prewake_stats_t *stats)
{
  (void)pool;
  *stats = (ws_prewake_stats_t){0};
}
