// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_near.c
/// ws_near.h: from Linux's sysfs.
#include "ws_near.h"

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
    while (cache < pool->near.caches && first[cache] != mine)
      cache++;
    if (mine < 0 || cache == WS_CACHES_MAX) { // caches that are not known do not help
      pool->near = (ws_near_pool_t){0};
      return;
    }
    if (cache == pool->near.caches)
      first[pool->near.caches++] = mine;
    pool->near.cache_of_cpu[cpu] = (uint8_t)cache;
  }
}

uint32_t ws_near_cache_of(const struct ws_pool_s *pool, int32_t cpu)
{
  const bool known = cpu >= 0 && cpu < (int32_t)WS_CPUS_MAX && pool->near.caches > 0
                     && ws_os_cpuset_has(&pool->mask, (uint32_t)cpu);
  return known ? 1 + pool->near.cache_of_cpu[cpu] : 0;
}

bool ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu)
{
  const uint32_t producer = ws_hint_load(&pool->near.producer) & (WS_PRODUCER_CPU + WS_PRODUCER_HOLDS);
  return cpu >= 0 && producer == (uint32_t)cpu + 1;
}
