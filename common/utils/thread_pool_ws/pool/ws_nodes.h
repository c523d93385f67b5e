// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_nodes.h
/// The NUMA nodes of a pool: those on whose CPUs its workers may run. The pool numbers them from 0. A node of
/// the machine that has no such CPU is served by the nearest node that has.
#ifndef WS_NODES_H
#define WS_NODES_H

#include "ws_types.h"

#define WS_NODE_NONE UINT32_MAX
/// NUMA nodes of a machine that are looked at.
#define WS_MACHINE_NODES_MAX 64u

/// A machine's NUMA nodes.
typedef struct {
  uint32_t count;
  uint32_t number[WS_MACHINE_NODES_MAX]; ///< that the system gives it
  uint8_t of_cpu[WS_CPUS_MAX]; ///< 1 + node of each CPU; 0 = not known
  uint64_t distance[WS_MACHINE_NODES_MAX][WS_MACHINE_NODES_MAX]; ///< [from][to]; any unit
} ws_machine_nodes_t;

/// @brief Choose the pool's nodes. @param usable  [cpu] whether a worker may run there
void ws_nodes_plan(ws_nodes_t *nodes, const ws_machine_nodes_t *machine, const bool *usable);

/// @return node of the pool for a task's hint; WS_NODE_NONE = the hint makes no difference
static inline uint32_t ws_nodes_of_hint(const ws_nodes_t *nodes, uint32_t hint)
{
  if (nodes->count < 2 || hint == WS_NODE_ANY || hint > WS_NODE_NUMBERS
      || nodes->of_number[hint - 1] >= nodes->count)
    return WS_NODE_NONE;
  return nodes->of_number[hint - 1];
}

/// @return the kind of a task that is pushed. A priority goes before a node
ws_kind_t ws_nodes_kind(const struct ws_pool_s *pool, const ws_task_t *task);

/// @return node of the pool to which a CPU belongs, or which is nearest to that CPU. If not known, node 0
static inline uint32_t ws_nodes_of_cpu(const ws_nodes_t *nodes, int32_t cpu)
{
  return cpu >= 0 && cpu < (int32_t)WS_CPUS_MAX ? nodes->of_cpu[cpu] : 0;
}

/// @return all nodes of the pool, from the nearest to the caller's CPU; NULL if nodes make no difference
static inline const uint8_t *ws_nodes_here(const ws_nodes_t *nodes)
{
  return nodes->count < 2 ? NULL : nodes->near[ws_nodes_of_cpu(nodes, ws_os_cpu())];
}

/// @return whether the worker was last seen on @p node. @param node  below nodes.count
static inline bool ws_nodes_has(const struct ws_pool_s *pool, const ws_worker_t *worker, uint32_t node)
{
  const uint32_t cpu = ws_hint_load(&worker->placed.seen_cpu);
  return cpu > 0 && ws_nodes_of_cpu(&pool->nodes, (int32_t)cpu - 1) == node;
}

#endif
