// SPDX-License-Identifier: BSD-3-Clause
/// @file scan_nodes.h
/// The NUMA nodes that have a CPU of this process.
#ifndef SCAN_NODES_H
#define SCAN_NODES_H

#include <sched.h>
#include <stdint.h>

#define NODES_MAX 64u

typedef struct {
  uint32_t count; ///< at least 1
  struct {
    int32_t number; ///< the kernel's
    cpu_set_t cpus; ///< those of the process's mask
    uint32_t cpu_count;
  } node[NODES_MAX];
  cpu_set_t all; ///< the process's mask
} nodes_t;

/// @brief Read the nodes from /sys. Without them there is one node, with the whole mask.
void nodes_find(nodes_t *nodes);

/// @brief Let the calling thread run on these CPUs only.
void nodes_move(const cpu_set_t *cpus);

/// @return number @p index of the CPUs, counted from 0, modulo their number
uint32_t nodes_cpu(const cpu_set_t *cpus, uint32_t index);

/// @brief Pin the calling thread to one CPU.
void nodes_pin(uint32_t cpu);

#endif
