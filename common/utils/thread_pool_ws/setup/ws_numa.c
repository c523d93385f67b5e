// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_numa.c
/// ws_numa.h, ws_node.h.
#include "ws_numa.h"

#include <errno.h>
#include <stdlib.h>

#include "../include/ws_node.h"

#ifdef WS_HWLOC
#include <hwloc.h>
#include <hwloc/distances.h>

static void read_nodes(hwloc_topology_t topology, ws_machine_nodes_t *machine)
{
  hwloc_obj_t node = NULL;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))
         && machine->count < WS_MACHINE_NODES_MAX) {
    const uint32_t index = machine->count++;
    machine->number[index] = node->os_index;
    for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
      if (hwloc_bitmap_isset(node->cpuset, cpu) && machine->of_cpu[cpu] == 0)
        machine->of_cpu[cpu] = (uint8_t)(index + 1);
  }
}

static uint32_t index_of(const ws_machine_nodes_t *machine, const struct hwloc_obj *node)
{
  uint32_t index = 0;
  while (index < machine->count && machine->number[index] != node->os_index)
    index++;
  return index;
}

/// Where the firmware does not tell distances, all nodes are equally far.
static void read_distances(hwloc_topology_t topology, ws_machine_nodes_t *machine)
{
  struct hwloc_distances_s *told = NULL;
  unsigned matrices = 1;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &matrices, &told,
                                  HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0) < 0 || matrices == 0)
    return;
  for (unsigned from = 0; from < told->nbobjs; from++)
    for (unsigned to = 0; to < told->nbobjs; to++) {
      const uint32_t row = index_of(machine, told->objs[from]), column = index_of(machine, told->objs[to]);
      if (row < machine->count && column < machine->count)
        machine->distance[row][column] = told->values[from * told->nbobjs + to];
    }
  hwloc_distances_release(topology, told);
}

bool ws_numa_read(ws_machine_nodes_t *machine)
{
  hwloc_topology_t topology;
  if (hwloc_topology_init(&topology) < 0)
    return false;
  // also the nodes that the process may not use: memory may lie there
  hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
  const bool loaded = hwloc_topology_load(topology) == 0;
  if (loaded) {
    read_nodes(topology, machine);
    read_distances(topology, machine);
  }
  hwloc_topology_destroy(topology);
  return loaded;
}
#else
bool ws_numa_read(ws_machine_nodes_t *machine)
{
  (void)machine;
  return false;
}
#endif

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
  pool->kinds = WS_KIND_NODE;
  if (ws_os_node_count() < 2) // to read the machine takes milliseconds
    return;
  bool usable[WS_CPUS_MAX] = {false};
  ws_machine_nodes_t *machine = calloc(1, sizeof(*machine));
  if (machine && ws_numa_read(machine)) {
    read_usable(pool, cpu, usable);
    ws_nodes_plan(&pool->nodes, machine, usable);
  }
  free(machine);
  if (pool->nodes.count >= 2)
    pool->kinds += pool->nodes.count;
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
