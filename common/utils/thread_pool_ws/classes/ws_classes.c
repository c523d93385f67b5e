// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_classes.c
/// ws_classes.h.
#include "ws_classes.h"

#include <stdlib.h>

#include "../pool/ws_near.h"
#include "../pool/ws_warn.h"
#include "ws_nodes.h"

/// CPUs on which workers may run.
static void read_usable(const struct ws_pool_s *pool, const int32_t *cpu, bool *usable)
{
  for (uint32_t i = 0; i < pool->requested; i++)
    if (cpu[i] >= 0 && cpu[i] < (int32_t)WS_CPUS_MAX)
      usable[cpu[i]] = true;
    else if (cpu[i] < 0)
      for (uint32_t any = 0; any < WS_CPUS_MAX; any++)
        usable[any] |= ws_os_cpuset_has(&pool->mask, any);
}

void ws_classes_plan(struct ws_pool_s *pool, const int32_t *cpu)
{
  pool->tasks.kinds = WS_KIND_NODE;
  if (ws_os_node_count() < 2)
    return;
  bool usable[WS_CPUS_MAX] = {false};
  ws_machine_nodes_t *machine = calloc(1, sizeof(*machine));
  pool->nodes = malloc(sizeof(*pool->nodes));
  if (machine && pool->nodes && ws_numa_read(machine)) {
    read_usable(pool, cpu, usable);
    ws_nodes_plan(pool->nodes, machine, usable);
    if (pool->nodes->count >= 2) {
      pool->tasks.kinds += pool->nodes->count;
      free(machine);
      return;
    }
  } else {
    ws_warn(&pool->settings, "/sys/devices/system/node cannot be read: the machine counts as one NUMA node");
  }
  free(machine);
  free(pool->nodes);
  pool->nodes = NULL;
}

ws_kind_t ws_classes_kind(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (task->priority == WS_PRIORITY_HIGH)
    return WS_KIND_HIGH;
  if (task->priority == WS_PRIORITY_LOW)
    return WS_KIND_LOW;
  const uint32_t node = pool->nodes ? ws_nodes_of_hint(pool->nodes, task->node) : WS_NODE_NONE;
  return node == WS_NODE_NONE ? WS_KIND_NORMAL : WS_KIND_NODE + node;
}

ws_kinds_t ws_classes_of_rank(const struct ws_pool_s *pool, ws_rank_t rank)
{
  static const uint8_t high = WS_KIND_HIGH, low = WS_KIND_LOW;
  const ws_nodes_t *nodes = pool->nodes;
  switch (rank) {
    case WS_RANK_HIGH:
      return (ws_kinds_t){.kind = &high, .count = 1};
    case WS_RANK_LOW:
      return (ws_kinds_t){.kind = &low, .count = 1};
    default:
      break;
  }
  if (!nodes)
    return (ws_kinds_t){0};
  const uint8_t *near = nodes->near[ws_nodes_of_cpu(nodes, ws_os_cpu())];
  return rank == WS_RANK_OWN_NODE ? (ws_kinds_t){.kind = near, .count = 1}
                                  : (ws_kinds_t){.kind = near + 1, .count = nodes->count - 1};
}

bool ws_classes_is_near(const struct ws_pool_s *pool, const ws_worker_t *worker, ws_kind_t kind)
{
  if (kind < WS_KIND_NODE)
    return ws_near_is(pool, worker);
  const uint32_t cpu = ws_hint_load(&worker->placed.seen_cpu);
  return cpu > 0 && ws_nodes_of_cpu(pool->nodes, (int32_t)cpu - 1) == kind - WS_KIND_NODE;
}

uint32_t ws_classes_home(const struct ws_pool_s *pool, ws_kind_t kind)
{
  return kind < WS_KIND_NODE ? WS_NODE_ANY : 1 + pool->nodes->number[kind - WS_KIND_NODE];
}
