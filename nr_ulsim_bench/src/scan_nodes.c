// SPDX-License-Identifier: BSD-3-Clause
#include "scan_nodes.h"

#include <stdio.h>
#include <stdlib.h>

/// @param list  as the kernel writes it: 0-3,8
static void parse_list(const char *list, cpu_set_t *cpus)
{
  CPU_ZERO(cpus);
  for (char *end; *list >= '0' && *list <= '9'; list = *end == ',' ? end + 1 : end) {
    const unsigned long first = strtoul(list, &end, 10);
    const unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
    for (unsigned long cpu = first; cpu <= last && cpu < CPU_SETSIZE; cpu++)
      CPU_SET(cpu, cpus);
  }
}

static void find_node(nodes_t *nodes, int32_t number)
{
  char path[80], list[4096] = "";
  snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", number);
  FILE *const file = fopen(path, "re");
  if (!file)
    return;
  if (!fgets(list, sizeof list, file))
    list[0] = '\0';
  fclose(file);
  cpu_set_t cpus;
  parse_list(list, &cpus);
  CPU_AND(&cpus, &cpus, &nodes->all);
  if (CPU_COUNT(&cpus) == 0 || nodes->count == NODES_MAX)
    return;
  nodes->node[nodes->count].number = number;
  nodes->node[nodes->count].cpus = cpus;
  nodes->node[nodes->count++].cpu_count = (uint32_t)CPU_COUNT(&cpus);
}

void nodes_find(nodes_t *nodes)
{
  nodes->count = 0;
  CPU_ZERO(&nodes->all);
  sched_getaffinity(0, sizeof nodes->all, &nodes->all);
  for (int32_t number = 0; number < 1024; number++)
    find_node(nodes, number);
  if (nodes->count > 0)
    return;
  nodes->count = 1;
  nodes->node[0].number = 0;
  nodes->node[0].cpus = nodes->all;
  nodes->node[0].cpu_count = (uint32_t)CPU_COUNT(&nodes->all);
}

void nodes_move(const cpu_set_t *cpus)
{
  sched_setaffinity(0, sizeof *cpus, cpus);
}

uint32_t nodes_cpu(const cpu_set_t *cpus, uint32_t index)
{
  uint32_t left = index % (uint32_t)CPU_COUNT(cpus);
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, cpus) && left-- == 0)
      return cpu;
  return 0;
}

void nodes_pin(uint32_t cpu)
{
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  nodes_move(&one);
}
