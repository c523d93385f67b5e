// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_nodes.c
/// ws_nodes.h.
#include "ws_nodes.h"

#include <string.h>

/// Which of the machine's nodes is which of the pool's.
typedef struct {
  const ws_machine_nodes_t *machine;
  uint32_t count;
  uint32_t of_pool[WS_NODES_MAX]; ///< index in machine
} chosen_t;

static bool has_usable(const ws_machine_nodes_t *machine, uint32_t node, const bool *usable)
{
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    if (usable[cpu] && machine->of_cpu[cpu] == node + 1)
      return true;
  return false;
}

static void choose(chosen_t *chosen, const bool *usable)
{
  for (uint32_t node = 0; node < chosen->machine->count && chosen->count < WS_NODES_MAX; node++)
    if (has_usable(chosen->machine, node, usable))
      chosen->of_pool[chosen->count++] = node;
}

/// @return the pool's node nearest to a node of the machine; of several, the first
static uint8_t nearest(const chosen_t *chosen, uint32_t from)
{
  uint8_t best = 0;
  for (uint32_t node = 0; node < chosen->count; node++) {
    if (chosen->of_pool[node] == from)
      return (uint8_t)node;
    if (chosen->machine->distance[from][chosen->of_pool[node]]
        < chosen->machine->distance[from][chosen->of_pool[best]])
      best = (uint8_t)node;
  }
  return best;
}

/// Order all of the pool's nodes by their distance from @p from. Those at the same distance come in turn from
/// @p from on, so that not all nodes help the same one first.
static void order(const chosen_t *chosen, uint32_t from, uint8_t *near)
{
  const uint64_t *distance = chosen->machine->distance[chosen->of_pool[from]];
  near[0] = (uint8_t)from;
  for (uint32_t step = 1; step < chosen->count; step++) {
    const uint8_t node = (uint8_t)((from + step) % chosen->count);
    uint32_t place = step;
    for (; place > 1 && distance[chosen->of_pool[near[place - 1]]] > distance[chosen->of_pool[node]]; place--)
      near[place] = near[place - 1];
    near[place] = node;
  }
}

void ws_nodes_plan(ws_nodes_t *nodes, const ws_machine_nodes_t *machine, const bool *usable)
{
  chosen_t chosen = {.machine = machine};
  choose(&chosen, usable);
  memset(nodes, 0, sizeof(*nodes));
  memset(nodes->of_number, UINT8_MAX, sizeof(nodes->of_number));
  nodes->count = chosen.count;
  if (chosen.count < 2)
    return;
  for (uint32_t node = 0; node < chosen.count; node++)
    order(&chosen, node, nodes->near[node]);
  for (uint32_t node = 0; node < machine->count; node++)
    if (machine->number[node] < WS_NODE_NUMBERS)
      nodes->of_number[machine->number[node]] = nearest(&chosen, node);
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    if (machine->of_cpu[cpu] > 0)
      nodes->of_cpu[cpu] = nearest(&chosen, machine->of_cpu[cpu] - 1u);
}

ws_kind_t ws_nodes_kind(const struct ws_pool_s *pool, const ws_task_t *task)
{
  if (task->priority == WS_PRIORITY_HIGH)
    return WS_KIND_HIGH;
  if (task->priority == WS_PRIORITY_LOW)
    return WS_KIND_LOW;
  const uint32_t node = ws_nodes_of_hint(&pool->nodes, task->node);
  return node == WS_NODE_NONE ? WS_KIND_NORMAL : WS_KIND_NODE + node;
}
