// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_numa_read.c
/// ws_topo.h: the machine's nodes, their CPUs and distances, from hwloc.
#include "ws_topo.h"

#ifdef WS_HWLOC
#include "ws_hwloc.h"

/// The set of a node that has memory only holds the CPUs near it. A CPU belongs to the node with the fewest.
static void read_nodes(const ws_hwloc_t *hwloc, ws_machine_nodes_t *machine)
{
  int fewest[WS_CPUS_MAX] = {0};
  hwloc_obj_t node = ws_hwloc_first(hwloc, HWLOC_OBJ_NUMANODE);
  for (; node && machine->count < WS_MACHINE_NODES_MAX; node = node->next_cousin) {
    const uint32_t index = machine->count++;
    machine->number[index] = node->os_index;
    const int cpus = hwloc->bitmap_weight(node->cpuset);
    for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
      if (hwloc->bitmap_isset(node->cpuset, cpu) && (fewest[cpu] == 0 || cpus < fewest[cpu])) {
        fewest[cpu] = cpus;
        machine->of_cpu[cpu] = (uint8_t)(index + 1);
      }
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
static void read_distances(const ws_hwloc_t *hwloc, ws_machine_nodes_t *machine)
{
  struct hwloc_distances_s *told = NULL;
  unsigned matrices = 1;
  if (hwloc->distances_get_by_type(hwloc->topology, HWLOC_OBJ_NUMANODE, &matrices, &told,
                                   HWLOC_DISTANCES_KIND_MEANS_LATENCY, 0)
          < 0
      || matrices == 0)
    return;
  for (unsigned from = 0; from < told->nbobjs; from++)
    for (unsigned to = 0; to < told->nbobjs; to++) {
      const uint32_t row = index_of(machine, told->objs[from]), column = index_of(machine, told->objs[to]);
      if (row < machine->count && column < machine->count)
        machine->distance[row][column] = told->values[from * told->nbobjs + to];
    }
  hwloc->distances_release(hwloc->topology, told);
}

bool ws_numa_read(ws_machine_nodes_t *machine)
{
  ws_hwloc_t hwloc;
  // also the nodes that the process may not use: memory may lie there
  if (ws_hwloc_begin(&hwloc, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED))
    return false;
  read_nodes(&hwloc, machine);
  read_distances(&hwloc, machine);
  ws_hwloc_end(&hwloc);
  return true;
}
#else
bool ws_numa_read(ws_machine_nodes_t *machine)
{
  (void)machine;
  return false;
}
#endif
