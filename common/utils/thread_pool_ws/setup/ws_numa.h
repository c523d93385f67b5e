// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_numa.h
/// The machine's NUMA nodes, read by hwloc. Without hwloc the machine counts as one node.
#ifndef WS_NUMA_H
#define WS_NUMA_H

#include "../pool/ws_nodes.h"

/// @brief Read the machine's nodes. @return false = not known
bool ws_numa_read(ws_machine_nodes_t *machine);

/// @brief Plan the pool's nodes (ws_nodes_plan) and kinds. @param cpu  CPU of each worker, -1 = it floats
/// @threads  the creator, before there are workers
void ws_numa_plan(struct ws_pool_s *pool, const int32_t *cpu);

#endif
