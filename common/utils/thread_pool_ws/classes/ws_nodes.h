// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_nodes.h
/// The NUMA nodes of a pool: those on whose CPUs its workers may run. The pool numbers them from 0. A node of
/// the machine that has no such CPU is served by the nearest node that has.
#ifndef WS_NODES_H
#define WS_NODES_H

#include "../pool/ws_types.h"

/// Beside WS_KIND_NORMAL: high priority, low priority, and node i of the pool (WS_KIND_NODE + i).
enum { WS_KIND_HIGH = WS_KIND_NORMAL + 1, WS_KIND_LOW, WS_KIND_NODE };
/// NUMA nodes with workers that a pool tells apart.
#define WS_NODES_MAX (WS_KINDS_MAX - WS_KIND_NODE)
#define WS_NODE_NONE UINT32_MAX
/// NUMA nodes of a machine that are looked at.
#define WS_MACHINE_NODES_MAX 64u

/// A machine's NUMA nodes.
typedef struct {
  uint32_t count;
  uint32_t number[WS_MACHINE_NODES_MAX]; ///< that the system gives it, below WS_NODE_NUMBERS
  uint8_t of_cpu[WS_CPUS_MAX]; ///< 1 + node of each CPU; 0 = not known
  uint64_t distance[WS_MACHINE_NODES_MAX][WS_MACHINE_NODES_MAX]; ///< [from][to]; any unit
} ws_machine_nodes_t;

/// A pool's.
typedef struct ws_nodes_s {
  uint32_t count;
  uint32_t number[WS_NODES_MAX]; ///< that the system gives it
  uint8_t of_cpu[WS_CPUS_MAX]; ///< node to which a CPU belongs, or which is nearest to it; 0 if not known
  /// node that serves the system's node of that number; UINT8_MAX = the machine has no such node
  uint8_t of_number[WS_NODE_NUMBERS];
  /// [i]: kinds of all nodes, from the nearest to node i, which is i
  uint8_t near[WS_NODES_MAX][WS_NODES_MAX];
} ws_nodes_t;

/// @brief Read the machine's online nodes, the first WS_MACHINE_NODES_MAX. @param machine  zeroed
/// @return false = not known, and @p machine is filled in part
bool ws_numa_read(ws_machine_nodes_t *machine);

/// @brief Choose the pool's nodes: of those with a usable CPU the first WS_NODES_MAX. If nodes->count is
/// below two, the pool needs none, and the caller drops them.
/// @param nodes   out
/// @param usable  [WS_CPUS_MAX] whether a worker may run on that CPU
void ws_nodes_plan(ws_nodes_t *nodes, const ws_machine_nodes_t *machine, const bool *usable);

/// @return node of the pool for a task's hint; WS_NODE_NONE = the hint makes no difference
static inline uint32_t ws_nodes_of_hint(const ws_nodes_t *nodes, uint32_t hint)
{
  if (hint == WS_NODE_ANY || hint > WS_NODE_NUMBERS || nodes->of_number[hint - 1] >= nodes->count)
    return WS_NODE_NONE;
  return nodes->of_number[hint - 1];
}

static inline uint32_t ws_nodes_of_cpu(const ws_nodes_t *nodes, int32_t cpu)
{
  return cpu >= 0 && cpu < (int32_t)WS_CPUS_MAX ? nodes->of_cpu[cpu] : 0;
}

#endif
