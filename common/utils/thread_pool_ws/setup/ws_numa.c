// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_numa.c
/// ws_topo.h, ws_node.h.
#include "ws_topo.h"

#include <errno.h>
#include <stdlib.h>

#include "../include/ws_node.h"
#include "../pool/ws_warn.h"

/// CPUs on which workers may run.
static void read_usable(const struct ws_pool_s *pool, const int32_t *cpu, bool *usable)
{
  bool floats = false;
  for (uint32_t i = 0; i < pool->requested; i++) {
    floats |= cpu[i] < 0;
    if (cpu[i] >= 0 && cpu[i] < (int32_t)WS_CPUS_MAX)
      usable[cpu[i]] = true;
  }
  for (uint32_t i = 0; i < WS_CPUS_MAX && floats; i++)
    usable[i] |= i < 8 * pool->mask.bytes && ws_os_cpuset_has(&pool->mask, i);
}

void ws_numa_plan(struct ws_pool_s *pool, const int32_t *cpu)
{
  pool->tasks.kinds = WS_KIND_NODE;
  if (ws_os_node_count() < 2)
    return;
  bool usable[WS_CPUS_MAX] = {false};
  ws_machine_nodes_t *machine = calloc(1, sizeof(*machine));
  if (machine && ws_numa_read(machine)) {
    read_usable(pool, cpu, usable);
    ws_nodes_plan(&pool->nodes, machine, usable);
  } else {
    ws_warn(&pool->settings, "/sys/devices/system/node cannot be read: the machine counts as one NUMA node");
  }
  free(machine);
  if (pool->nodes.count >= 2)
    pool->tasks.kinds += pool->nodes.count;
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
