// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_classes.c
/// ws_classes.h, ws_nodes.h.
#include "ws_classes.h"

#include "../pool/ws_callback.h"
#include "../pool/ws_near.h"
#include "ws_nodes.h"

#define NODES "/sys/devices/system/node/"

/// Which of the machine's nodes is which of the pool's.
typedef struct {
  const ws_machine_nodes_t *machine;
  uint32_t count;
  uint32_t of_pool[WS_NODES_MAX]; ///< index in machine
} chosen_t;

/// @param from  index of a node of the machine. @return the pool's node nearest to it; of several, the first
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

/// Order the kinds of all of the pool's nodes by their distance from @p from. Those at the same distance come
/// in turn from @p from on, so that not all nodes help the same one first.
/// @param from  a node of the pool. @param near  out: [count]; the first one is @p from's
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
  for (uint32_t i = 0; i < chosen->count; i++)
    near[i] += WS_KIND_NODE;
}

void ws_nodes_plan(ws_nodes_t *nodes, const ws_machine_nodes_t *machine, const bool *usable)
{
  chosen_t chosen = {.machine = machine};
  bool has_usable[WS_MACHINE_NODES_MAX + 1] = {false}; // 1 + node
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    has_usable[machine->of_cpu[cpu]] |= usable[cpu];
  for (uint32_t node = 0; node < machine->count && chosen.count < WS_NODES_MAX; node++)
    if (has_usable[node + 1])
      chosen.of_pool[chosen.count++] = node;
  memset(nodes, 0, sizeof(*nodes));
  memset(nodes->of_number, UINT8_MAX, sizeof(nodes->of_number));
  nodes->count = chosen.count;
  for (uint32_t node = 0; node < chosen.count; node++) {
    nodes->number[node] = machine->number[chosen.of_pool[node]];
    order(&chosen, node, nodes->near[node]);
  }
  for (uint32_t node = 0; node < machine->count; node++)
    nodes->of_number[machine->number[node]] = nearest(&chosen, node);
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    if (machine->of_cpu[cpu] > 0)
      nodes->of_cpu[cpu] = nearest(&chosen, machine->of_cpu[cpu] - 1u);
}

/// Read which CPUs a node has, and its distances. The list of CPUs of a node that has memory only is empty.
/// The file of distances has a number for each online node. A node without a number counts as far: where
/// there are no numbers, all nodes are equally far.
/// @return false = the list of CPUs cannot be read
static bool read_node(ws_machine_nodes_t *machine, uint32_t node)
{
  char path[64], text[4096] = "", *next = text, *end;
  ws_cpuset_t cpus;
  snprintf(path, sizeof(path), NODES "node%u/cpulist", machine->number[node]);
  if (!ws_os_read_list(path, &cpus))
    return false;
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    if (ws_os_cpuset_has(&cpus, cpu))
      machine->of_cpu[cpu] = (uint8_t)(node + 1);
  snprintf(path, sizeof(path), NODES "node%u/distance", machine->number[node]);
  ws_os_read(path, text, sizeof(text));
  for (uint32_t to = 0; to < machine->count; to++, next = end) {
    const uint64_t distance = strtoul(next, &end, 10);
    machine->distance[node][to] = end > next ? distance : UINT64_MAX;
  }
  return true;
}

bool ws_numa_read(ws_machine_nodes_t *machine)
{
  ws_cpuset_t nodes;
  if (!ws_os_read_list(NODES "online", &nodes))
    return false;
  for (uint32_t number = 0; number < WS_NODE_NUMBERS && machine->count < WS_MACHINE_NODES_MAX; number++)
    if (ws_os_cpuset_has(&nodes, number))
      machine->number[machine->count++] = number;
  for (uint32_t node = 0; node < machine->count; node++)
    if (!read_node(machine, node))
      return false;
  return true;
}

/// @param cpu  of each requested worker, -1 = it floats. @param usable  in: all false; out: CPUs on which
/// workers may run
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
  const bool is_known = machine && pool->nodes && ws_numa_read(machine);
  if (is_known) {
    read_usable(pool, cpu, usable);
    ws_nodes_plan(pool->nodes, machine, usable);
  } else {
    ws_warn(&pool->settings, "/sys/devices/system/node cannot be read: the machine counts as one NUMA node");
  }
  free(machine);
  if (is_known && pool->nodes->count >= 2) {
    pool->tasks.kinds += pool->nodes->count;
    return;
  }
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
  if (rank == WS_RANK_HIGH || rank == WS_RANK_LOW)
    return (ws_kinds_t){.kind = rank == WS_RANK_HIGH ? &high : &low, .count = 1};
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
  const uint32_t cpu = ws_hint_load(&worker->seen_cpu);
  return cpu > 0 && ws_nodes_of_cpu(pool->nodes, (int32_t)cpu - 1) == kind - WS_KIND_NODE;
}

uint32_t ws_classes_home(const struct ws_pool_s *pool, ws_kind_t kind)
{
  return kind < WS_KIND_NODE ? WS_NODE_ANY : 1 + pool->nodes->number[kind - WS_KIND_NODE];
}
