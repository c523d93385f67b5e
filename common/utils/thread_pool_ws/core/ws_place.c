// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_place.c
/// ws_place.h.
#include "ws_place.h"

bool ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu)
{
  return ws_load_relaxed(&pool->producer_cpu) == (uint32_t)(cpu + 1); // relaxed: a preference
}

void ws_place_note(struct ws_pool_s *pool, ws_here_t here, uint32_t cpu)
{
  if (here.worker)
    ws_store_relaxed(&here.worker->seen_cpu, cpu); // relaxed: a preference
  else if (here.queue && ws_load_relaxed(&pool->producer_cpu) != cpu) // relaxed: a preference
    ws_store_relaxed(&pool->producer_cpu, cpu); // relaxed: a preference
}

/// A floating worker that parks on the CPU of a thread that pushes would be woken there, on top of it, and
/// stop it: a real-time worker always, a normal one where the scheduler looks for no other CPU. It moves off
/// before it sleeps.
void ws_place_leave(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const int32_t cpu = ws_os_cpu();
  ws_store_relaxed(&worker->seen_cpu, (uint32_t)(cpu + 1)); // relaxed: a preference
  if (worker->cpu >= 0 || pool->cpus < 2 || cpu < 0 || !ws_producer_on_cpu(pool, cpu))
    return;
  if (ws_os_avoid(0, &pool->mask, (uint32_t)cpu) == 0) {
    ws_count(&worker->queue.count.placements, 1);
    ws_store_relaxed(&worker->seen_cpu, (uint32_t)(ws_os_cpu() + 1)); // relaxed: a preference
  }
}
