// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_topo.c
/// ws_topo.h; the distances come from hwloc where the build has it.
#include "ws_topo.h"

#include <string.h>

#include "../pool/ws_warn.h"

#ifdef WS_HWLOC
#include "ws_hwloc.h"
#endif

static void plan_cores(const ws_settings_t *settings, int32_t *cpu)
{
  bool warned = false;
  for (uint32_t i = 0; i < settings->workers && i < settings->core_count; i++) {
    cpu[i] = settings->cores[i];
    if (cpu[i] < -1) {
      ws_warn(settings, "cores[%u] = %d is not a CPU number (-1 = float): worker %u floats", i, cpu[i], i);
      cpu[i] = -1;
    }
    for (uint32_t k = 0; k < i && cpu[i] >= 0 && !warned; k++) {
      if (cpu[k] == cpu[i]) {
        warned = true;
        ws_warn(settings, "cores[%u] = %d is also cores[%u]: these workers share that CPU", i, cpu[i], k);
      }
    }
  }
}

/// @return the n-th CPU of the set, counted from 0
static int32_t nth_cpu(const ws_cpuset_t *mask, uint32_t n)
{
  for (uint32_t cpu = 0; cpu < 8 * mask->bytes; cpu++)
    if (ws_os_cpuset_has(mask, cpu) && n-- == 0)
      return (int32_t)cpu;
  return -1;
}

void ws_topo_plan(const ws_settings_t *settings, const ws_cpuset_t *mask, int32_t *cpu)
{
  const uint32_t count = ws_os_cpuset_count(mask);
  for (uint32_t i = 0; i < settings->workers; i++)
    cpu[i] = -1;
  if (settings->core_count > 0) {
    plan_cores(settings, cpu);
  } else if (settings->pin_step > 0 && count > 0) {
    uint32_t lap = 1; // workers until the steps are back at the first CPU
    while ((uint64_t)lap * settings->pin_step % count != 0)
      lap++;
    for (uint32_t i = 0; i < settings->workers; i++) {
      // Back at the first CPU go on one further: a step of 2 reaches the odd ones after the even ones.
      const uint64_t place = (uint64_t)i * settings->pin_step + i / lap;
      cpu[i] = nth_cpu(mask, (uint32_t)(place % count));
    }
  }
}

uint32_t ws_topo_cpus(const ws_cpuset_t *mask, const int32_t *cpu, uint32_t workers)
{
  uint32_t cpus = ws_os_cpuset_count(mask);
  for (uint32_t i = 0; i < workers; i++) {
    bool counted = cpu[i] < 0 || ws_os_cpuset_has(mask, (uint32_t)cpu[i]);
    for (uint32_t k = 0; k < i && !counted; k++)
      counted = cpu[k] == cpu[i];
    cpus += !counted;
  }
  const uint32_t quota = ws_os_quota_cpus();
  cpus = cpus < quota ? cpus : quota;
  return cpus > 0 ? cpus : 1;
}

uint32_t ws_topo_worker_cpus(const int32_t *cpu, uint32_t workers, uint32_t cpus)
{
  uint32_t distinct = 0;
  for (uint32_t i = 0; i < workers; i++) {
    if (cpu[i] < 0)
      return cpus;
    bool seen = false;
    for (uint32_t k = 0; k < i && !seen; k++)
      seen = cpu[k] == cpu[i];
    distinct += !seen;
  }
  return distinct > 0 && distinct < cpus ? distinct : cpus;
}

/// Distances that a victim order knows, nearest first.
enum { NEAR_SMT, NEAR_L2, NEAR_L3, NEAR_NODE, NEAR_ANY, NEAR_LEVELS };

#ifdef WS_HWLOC
static bool share(hwloc_obj_t a, hwloc_obj_t b, hwloc_obj_type_t type)
{
  for (; a && a->type != type; a = a->parent)
    ;
  for (; b && b->type != type; b = b->parent)
    ;
  return a && a == b;
}

/// @return the object of a CPU; NULL = unknown, or the worker floats
static hwloc_obj_t of_cpu(const ws_hwloc_t *hwloc, int32_t cpu)
{
  hwloc_obj_t pu = cpu < 0 ? NULL : ws_hwloc_first(hwloc, HWLOC_OBJ_PU);
  while (pu && pu->os_index != (unsigned)cpu)
    pu = pu->next_cousin;
  return pu;
}

static uint8_t distance(const ws_hwloc_t *hwloc, int32_t cpu, int32_t other)
{
  hwloc_obj_t a = of_cpu(hwloc, cpu), b = of_cpu(hwloc, other);
  if (!a || !b)
    return NEAR_ANY;
  if (share(a, b, HWLOC_OBJ_CORE))
    return NEAR_SMT;
  if (share(a, b, HWLOC_OBJ_L2CACHE))
    return NEAR_L2;
  if (share(a, b, HWLOC_OBJ_L3CACHE))
    return NEAR_L3;
  return hwloc->bitmap_isequal(a->nodeset, b->nodeset) ? NEAR_NODE : NEAR_ANY;
}
#endif

/// @param away  distance of each worker from worker @p index
static void order_victims(struct ws_pool_s *pool, uint32_t index, const uint8_t *away)
{
  uint32_t count = 0;
  for (uint32_t level = 0; level < NEAR_LEVELS; level++)
    for (uint32_t step = 1; step < pool->workers; step++)
      if (away[(index + step) % pool->workers] == level)
        pool->worker[index]->victims[count++] = (index + step) % pool->workers;
}

#ifdef WS_HWLOC
static uint32_t pinned_workers(const struct ws_pool_s *pool)
{
  uint32_t pinned = 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    pinned += pool->worker[i]->cpu >= 0;
  return pinned;
}

/// Only pinned workers have distances. To read the machine takes milliseconds: only with two of them or more.
static bool read_machine(const struct ws_pool_s *pool, ws_hwloc_t *hwloc)
{
  if (pinned_workers(pool) < 2)
    return false;
  const char *why = ws_hwloc_begin(hwloc, 0);
  if (why)
    ws_warn(&pool->settings, "no hwloc (%s): workers steal in the order of their numbers", why);
  return !why;
}

void ws_topo_victims(struct ws_pool_s *pool)
{
  uint8_t away[WS_WORKERS_MAX];
  memset(away, NEAR_ANY, sizeof(away));
  ws_hwloc_t hwloc;
  const bool known = read_machine(pool, &hwloc);
  for (uint32_t i = 0; i < pool->workers; i++) {
    for (uint32_t other = 0; known && other < pool->workers; other++)
      away[other] = distance(&hwloc, pool->worker[i]->cpu, pool->worker[other]->cpu);
    order_victims(pool, i, away);
  }
  if (known)
    ws_hwloc_end(&hwloc);
}
#else
void ws_topo_victims(struct ws_pool_s *pool)
{
  uint8_t away[WS_WORKERS_MAX];
  memset(away, NEAR_ANY, sizeof(away));
  for (uint32_t i = 0; i < pool->workers; i++)
    order_victims(pool, i, away);
}
#endif
