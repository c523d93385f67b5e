// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.c
/// Wake workers before there is work for them: a parked worker's CPU takes 20 to 100 us to wake, which then
/// passes while the producer still prepares the burst.
#include "ws_lane.h"
#include "ws_park.h"

#define WITHIN_NS_MAX 100000000u

/// The caller's place, but without claiming a lane for a thread that has never pushed.
static ws_here_t here_if_known(const struct ws_pool_s *pool)
{
  const ws_self_t *self = ws_self();
  if (self->worker && self->worker->pool == pool)
    return (ws_here_t){.queue = &self->worker->queue, .worker = self->worker};
  for (uint32_t i = 0; i < WS_LANE_CACHE; i++)
    if (self->lane[i].pool_id == pool->id)
      return (ws_here_t){.queue = self->lane[i].lane};
  return (ws_here_t){0};
}

void ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns)
{
  const ws_here_t here = here_if_known(pool);
  const uint64_t until_ns = ws_os_now_ns() + (within_ns < WITHIN_NS_MAX ? within_ns : WITHIN_NS_MAX);
  if (until_ns > ws_load_relaxed(&pool->announced_ns)) // relaxed: a budget; of two at once one may win
    ws_store_relaxed(&pool->announced_ns, until_ns); // relaxed: a budget
  // The thread that announces will push, and need a CPU of its own.
  if (!here.worker && !ws_load_relaxed(&pool->outside)) // relaxed: a preference
    ws_store_relaxed(&pool->outside, 1); // relaxed: a preference
  while (ws_load_relaxed(&pool->searching) < workers // relaxed: a preference
         && ws_working(pool) < ws_awake_limit(pool) && ws_wake_sleeper(pool, here))
    ;
}
