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

/// @brief Take the memory of a worker from the node of its CPU. @param cpu  -1 = it floats, and has no node
/// @threads  the creator, before any thread has touched the memory
void ws_numa_place(const struct ws_pool_s *pool, int32_t cpu, void *memory, size_t bytes);

/// @brief The creator is about to create a worker's thread: what the creator touches of its stack comes from
/// the node of the worker's CPU.
void ws_numa_begin_thread(struct ws_pool_s *pool, int32_t cpu);

/// @brief Give the caller the memory policy that the creator had before.
/// @threads  the creator when it has created the thread, and the thread when it begins
void ws_numa_end_thread(const struct ws_pool_s *pool, int32_t cpu);

#endif
