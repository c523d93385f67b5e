// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_nodes.c
/// The simulated machine's NUMA nodes, as the core reads them, in place of the kernel.
#include "../../../setup/ws_topo.h"
#include "sim_machine.h"

uint32_t __wrap_ws_os_node_count(void);
bool __wrap_ws_numa_read(ws_machine_nodes_t *machine);

uint32_t __wrap_ws_os_node_count(void)
{
  return (sim_machine.cpus + sim_machine.node_cpus - 1) / sim_machine.node_cpus;
}

/// The further apart two numbers, the further apart the nodes.
bool __wrap_ws_numa_read(ws_machine_nodes_t *machine)
{
  machine->count = __wrap_ws_os_node_count();
  for (uint32_t i = 0; i < machine->count; i++) {
    machine->number[i] = i;
    for (uint32_t k = 0; k < machine->count; k++)
      machine->distance[i][k] = 10 + (i > k ? i - k : k - i);
  }
  for (uint32_t cpu = 0; cpu < sim_machine.cpus; cpu++)
    machine->of_cpu[cpu] = (uint8_t)(1 + cpu / sim_machine.node_cpus);
  return true;
}
