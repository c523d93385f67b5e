// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_numa_read.c
/// ws_topo.h: the machine's nodes, their CPUs and distances, from hwloc.
#include "ws_topo.h"

#ifdef WS_HWLOC
#include <hwloc.h>
#include <hwloc/distances.h>

/// The set of a node that has memory only holds the CPUs near it. A CPU belongs to the node with the fewest.
static void read_nodes(hwloc_topology_t topology, ws_machine_nodes_t *machine)
{
  int fewest[WS_CPUS_MAX] = {0};
  hwloc_obj_t node = NULL;
  while ((node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node))
         && machine->count < WS_MACHINE_NODES_MAX) {
    const uint32_t index = machine->count++;
    machine->number[index] = node->os_index;
    const int cpus = hwloc_bitmap_weight(node->cpuset);
    for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
      if (hwloc_bitmap_isset(node->cpuset, cpu) && (fewest[cpu] == 0 || cpus < fewest[cpu])) {
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
static void read_distances(hwloc_topology_t topology, ws_machine_nodes_t *machine)
{
  struct hwloc_distances_s *told = NULL;
  unsigned matrices = 1;
  if (hwloc_distances_get_by_type(topology, HWLOC_OBJ_NUMANODE, &matrices, &told,
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
