// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_topo.c
/// ws_setup.h: on which CPUs workers run, and in which order they steal from each other. ws_node.h.
#include "../include/ws_node.h"
#include "../os/ws_os.h"
#include "../pool/ws_callback.h"
#include "../pool/ws_near.h"
#include "ws_setup.h"

/// @return the first worker with the CPU of worker @p i
static uint32_t first_on(const int32_t *cpu, uint32_t i)
{
  uint32_t first = 0;
  while (cpu[first] != cpu[i])
    first++;
  return first;
}

/// Put settings.cores into @p cpu. A number below -1 floats.
static void plan_cores(const ws_settings_t *settings, int32_t *cpu)
{
  bool warned = false;
  for (uint32_t i = 0; i < settings->workers && i < settings->core_count; i++) {
    cpu[i] = settings->cores[i];
    if (cpu[i] < -1) {
      ws_warn(settings, "cores[%u] = %d is not a CPU number (-1 = float): worker %u floats", i, cpu[i], i);
      cpu[i] = -1;
    }
    const uint32_t first = first_on(cpu, i);
    if (cpu[i] >= 0 && first < i && !warned) {
      warned = true;
      ws_warn(settings, "cores[%u] = %d is also cores[%u]: these workers share that CPU", i, cpu[i], first);
    }
  }
}

/// @return the n-th CPU of the set, counted from 0; -1 = it has fewer
static int32_t nth_cpu(const ws_cpuset_t *mask, uint32_t n)
{
  for (uint32_t cpu = 0; cpu < WS_CPUSET_MAX; cpu++)
    if (ws_os_cpuset_has(mask, cpu) && n-- == 0)
      return (int32_t)cpu;
  return -1;
}

/// @return the CPU of worker @p i by pin_first and pin_step; -1 = it floats, or cores decides
static int32_t step_cpu(const ws_settings_t *settings, const ws_cpuset_t *mask, uint32_t i)
{
  const uint32_t count = ws_os_cpuset_count(mask);
  if (settings->core_count > 0 || settings->pin_step == 0 || count == 0)
    return -1;
  const uint32_t first = settings->pin_first < count ? settings->pin_first : count - 1, kept = count - first;
  i %= count;
  if (i >= kept)
    return nth_cpu(mask, i - kept);
  uint32_t lap = 1; // workers until the steps are back at the first CPU
  while ((uint64_t)lap * settings->pin_step % kept != 0)
    lap++;
  // Back at the first CPU go on one further: a step of 2 reaches the odd ones after the even ones.
  return nth_cpu(mask, first + (uint32_t)(((uint64_t)i * settings->pin_step + i / lap) % kept));
}

void ws_topo_plan(const ws_settings_t *settings, const ws_cpuset_t *mask, int32_t *cpu)
{
  for (uint32_t i = 0; i < settings->workers; i++)
    cpu[i] = step_cpu(settings, mask, i);
  plan_cores(settings, cpu);
}

int32_t ws_settings_cpu(const ws_settings_t *settings, uint32_t index)
{
  ws_settings_t own;
  ws_cpuset_t mask;
  if (!settings || ws_settings_take(&own, settings) < 0)
    return -1;
  if (index < own.core_count)
    return own.cores[index] >= 0 ? own.cores[index] : -1;
  return ws_os_process_cpus(&mask) == 0 ? step_cpu(&own, &mask, index) : -1;
}

void ws_topo_count(struct ws_pool_s *pool, const int32_t *cpu)
{
  const uint32_t quota = ws_os_grants().cpus;
  uint32_t cpus = ws_os_cpuset_count(&pool->mask), distinct = 0;
  for (uint32_t i = 0; i < pool->workers; i++) {
    const bool is_first = cpu[i] >= 0 && first_on(cpu, i) == i;
    cpus += is_first && !ws_os_cpuset_has(&pool->mask, (uint32_t)cpu[i]);
    distinct += is_first;
  }
  pool->allowed_cpus = cpus > 0 ? cpus : 1;
  pool->cpus = pool->allowed_cpus < quota ? pool->allowed_cpus : quota;
  const bool is_few = pool->pinned == pool->workers && distinct > 0 && distinct < pool->cpus;
  pool->worker_cpus = is_few ? distinct : pool->cpus;
}

void ws_topo_victims(struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < pool->workers; i++) {
    uint32_t *next = pool->worker[i]->victims;
    const uint32_t cache = ws_near_cache_of(pool, pool->worker[i]->cpu);
    for (uint32_t far = 0; far < 2; far++)
      for (uint32_t step = 1; step < pool->workers; step++) {
        const uint32_t other = (i + step) % pool->workers;
        if ((cache == 0 || ws_near_cache_of(pool, pool->worker[other]->cpu) != cache) == far)
          *next++ = other;
      }
  }
}

uint32_t ws_node_count(void)
{
  return ws_os_node_count();
}

int32_t ws_node_of(const void *address)
{
  void *const page = (void *)(uintptr_t)address;
  int32_t node = 0;
  const int error = ws_os_nodes_of(1, &page, &node);
  if ((error == -ENOSYS || error == -EPERM) && ws_os_node_count() < 2)
    return 0; // the kernel does not tell, and there is no other node
  return error < 0 ? error : node;
}
