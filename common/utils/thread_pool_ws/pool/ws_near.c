// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_near.c
/// ws_near.h: from Linux's sysfs.
#include "ws_near.h"

#include <stdio.h>
#include <stdlib.h>

/// @return the first CPU of those that share the last-level cache of @p cpu; -1 = unknown
static int32_t first_of(uint32_t cpu)
{
  char path[96], text[32];
  for (int32_t level = 3; level >= 2; level--) {
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/cache/index%d/shared_cpu_list", cpu, level);
    if (ws_os_read(path, text, sizeof(text)))
      return (int32_t)strtol(text, NULL, 10); // the list is in order
  }
  return -1;
}

void ws_near_plan(struct ws_pool_s *pool)
{
  int32_t first[WS_CACHES_MAX];
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++) {
    if (!ws_os_cpuset_has(&pool->mask, cpu))
      continue;
    const int32_t mine = first_of(cpu);
    uint32_t cache = 0;
    while (cache < pool->caches.count && first[cache] != mine)
      cache++;
    if (mine < 0 || cache == WS_CACHES_MAX) { // caches that are not known do not help
      pool->caches.count = 0;
      return;
    }
    if (cache == pool->caches.count)
      first[pool->caches.count++] = mine;
    pool->caches.of_cpu[cpu] = (uint8_t)cache;
  }
}

void ws_near_moved(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const uint32_t cpu = ws_own_load(&worker->placed.seen_cpu);
  if (pool->caches.count < 2 || cpu == 0 || cpu > WS_CPUS_MAX)
    return;
  const uint32_t cache = 1 + pool->caches.of_cpu[cpu - 1];
  if (cache == worker->placed.cache)
    return;
  if (worker->placed.cache > 0)
    ws_hint_add(&pool->at_cache[worker->placed.cache - 1], 0u - 1);
  worker->placed.cache = cache;
  ws_hint_add(&pool->at_cache[cache - 1], 1);
}

uint32_t ws_near_count(const struct ws_pool_s *pool)
{
  const uint32_t producer = ws_hint_load(&pool->producer_cpu);
  if (pool->caches.count < 2 || producer == 0 || producer > WS_CPUS_MAX)
    return pool->workers;
  return ws_hint_load(&pool->at_cache[pool->caches.of_cpu[producer - 1]]);
}

bool ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu)
{
  return ws_hint_load(&pool->producer_cpu) == (uint32_t)(cpu + 1) && !ws_hint_load(&pool->producer_holds);
}
