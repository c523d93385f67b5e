// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_nodes.c
/// The simulated machine's NUMA nodes: the files that the core reads, in place of the kernel's.
#include <stdio.h>
#include <string.h>

#include "../../../os/ws_os.h"
#include "sim_machine.h"

bool __real_ws_os_read(const char *path, char *text, size_t bytes);
bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);

/// The further apart two numbers, the further apart the nodes.
bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  static const char folder[] = "/sys/devices/system/node/";
  if (strncmp(path, folder, sizeof(folder) - 1) != 0)
    return __real_ws_os_read(path, text, bytes);
  const uint32_t cpus = sim_machine.node_cpus, nodes = (sim_machine.cpus + cpus - 1) / cpus;
  uint32_t node = 0;
  path += sizeof(folder) - 1;
  if (sscanf(path, "node%u/", &node) == 0) {
    snprintf(text, bytes, "0-%u\n", nodes - 1);
  } else if (strstr(path, "/cpulist")) {
    const uint32_t end = (node + 1) * cpus < sim_machine.cpus ? (node + 1) * cpus : sim_machine.cpus;
    snprintf(text, bytes, "%u-%u\n", node * cpus, end - 1);
  } else {
    for (uint32_t i = 0, used = 0; i < nodes; i++)
      used += (uint32_t)snprintf(text + used, bytes - used, "%u ", 10 + (i > node ? i - node : node - i));
  }
  return true;
}
