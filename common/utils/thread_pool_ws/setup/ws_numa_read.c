// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_numa_read.c
/// ws_topo.h: the machine's nodes, their CPUs and distances, from Linux's sysfs.
#include <stdio.h>
#include <stdlib.h>

#include "ws_topo.h"

#define TEXT_BYTES 4096

/// Read the file @p name of a node.
static bool read_of_node(uint32_t number, const char *name, char text[TEXT_BYTES])
{
  char path[64];
  snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/%s", number, name);
  return ws_os_read(path, text, TEXT_BYTES);
}

/// The list of a node that has memory only is empty.
static bool read_cpus(ws_machine_nodes_t *machine, uint32_t node)
{
  char text[TEXT_BYTES], *next = text;
  uint32_t first, last;
  if (!read_of_node(machine->number[node], "cpulist", text))
    return false;
  while (ws_os_next_range(&next, &first, &last))
    for (uint32_t cpu = first; cpu <= last && cpu < WS_CPUS_MAX; cpu++)
      machine->of_cpu[cpu] = (uint8_t)(node + 1);
  return true;
}

/// The file has a number for each online node. A node without a number counts as far: where there are no
/// numbers, all nodes are equally far.
static void read_distances(ws_machine_nodes_t *machine, uint32_t from)
{
  char text[TEXT_BYTES] = "", *next = text, *end;
  read_of_node(machine->number[from], "distance", text);
  for (uint32_t to = 0; to < machine->count; to++, next = end) {
    const uint64_t distance = strtoul(next, &end, 10);
    machine->distance[from][to] = end > next ? distance : UINT64_MAX;
  }
}

bool ws_numa_read(ws_machine_nodes_t *machine)
{
  char text[TEXT_BYTES], *next = text;
  uint32_t first, last;
  if (!ws_os_read("/sys/devices/system/node/online", text, sizeof(text)))
    return false;
  while (ws_os_next_range(&next, &first, &last))
    for (uint32_t number = first; number <= last && machine->count < WS_MACHINE_NODES_MAX; number++)
      machine->number[machine->count++] = number;
  for (uint32_t node = 0; node < machine->count; node++) {
    if (!read_cpus(machine, node))
      return false;
    read_distances(machine, node);
  }
  return true;
}
