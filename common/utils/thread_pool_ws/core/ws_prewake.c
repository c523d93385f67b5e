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
