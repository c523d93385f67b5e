// SPDX-License-Identifier: BSD-3-Clause
/// @file test_nodes.c
/// Which NUMA nodes a pool tells apart, which of them is nearest, and which serves a node without workers.
#include "../../../classes/ws_nodes.h"
#include "../../support/ws_test.h"

#define CPUS_A_NODE 4u

static ws_machine_nodes_t machine;
static bool usable[WS_CPUS_MAX];
static ws_nodes_t nodes;

/// A machine of @p count nodes in a ring, with four CPUs each; all can be used. Their numbers: 0, step, ...
static void begin(uint32_t count, uint32_t step)
{
  memset(&machine, 0, sizeof(machine));
  memset(usable, 0, sizeof(usable));
  machine.count = count;
  for (uint32_t i = 0; i < count; i++) {
    machine.number[i] = i * step;
    for (uint32_t k = 0; k < count; k++) {
      const uint32_t steps = (i + count - k) % count;
      machine.distance[i][k] = 10 * (1 + (steps < count - steps ? steps : count - steps));
    }
  }
  for (uint32_t cpu = 0; cpu < count * CPUS_A_NODE; cpu++) {
    machine.of_cpu[cpu] = (uint8_t)(1 + cpu / CPUS_A_NODE);
    usable[cpu] = true;
  }
}

static void forbid(uint32_t node)
{
  for (uint32_t cpu = node * CPUS_A_NODE; cpu < (node + 1) * CPUS_A_NODE; cpu++)
    usable[cpu] = false;
}

static uint32_t of_number(uint32_t number)
{
  return ws_nodes_of_hint(&nodes, number + 1);
}

/// What a pool makes of a number of a node that a task names.
TEST_CASE(numbers_of_nodes)
{
  static const struct {
    uint32_t count, step; ///< of the machine's nodes
    uint32_t nodes, number, index;
  } rows[] = {{2, 1, 2, 0, 0},
              {2, 1, 2, 1, 1},
              {2, 1, 2, 2, WS_NODE_NONE},
              {2, 1, 2, WS_NODE_NUMBERS - 1, WS_NODE_NONE},
              {2, 1, 2, WS_NODE_NUMBERS, WS_NODE_NONE},
              {2, 1, 2, UINT32_MAX - 1, WS_NODE_NONE},
              {2, 1, 2, WS_NODE_ANY - 1, WS_NODE_NONE},
              {1, 1, 1, 0, 0},
              {2, WS_NODE_NUMBERS - 1, 2, WS_NODE_NUMBERS - 1, 1},
              {WS_NODES_MAX + 4, 1, WS_NODES_MAX, WS_NODES_MAX - 1, WS_NODES_MAX - 1},
              {WS_NODES_MAX + 4, 1, WS_NODES_MAX, WS_NODES_MAX, WS_NODES_MAX - 1},
              {WS_NODES_MAX + 4, 1, WS_NODES_MAX, WS_NODES_MAX + 3, 0}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(rows[i].count, rows[i].step);
    ws_nodes_plan(&nodes, &machine, usable);
    CU_ASSERT_EQUAL(nodes.count, rows[i].nodes);
    CU_ASSERT_EQUAL(of_number(rows[i].number), rows[i].index);
    CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, CPUS_A_NODE - 1), 0);
    CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, CPUS_A_NODE), rows[i].count > 1);
    CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, -1), 0);
    CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, (int32_t)WS_CPUS_MAX), 0);
  }
}

/// A ring, in which the distance of opposite ones is greatest; one whose distances are not known, and one
/// whose firmware calls each node far from itself.
TEST_CASE(the_nearest_come_first)
{
  static const struct {
    uint32_t count, distances; ///< 0 = as in a ring, 1 = not known, 2 = far from itself
    uint32_t from;
    uint32_t near[6];
  } rows[] = {{6, 0, 0, {0, 1, 5, 2, 4, 3}},
              {6, 0, 4, {4, 5, 3, 0, 2, 1}},
              {4, 1, 2, {2, 3, 0, 1}}, // in turn
              {3, 2, 1, {1, 2, 0}}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    begin(rows[i].count, 1);
    if (rows[i].distances == 1)
      memset(machine.distance, 0, sizeof(machine.distance));
    else if (rows[i].distances == 2)
      machine.distance[1][1] = 1000;
    ws_nodes_plan(&nodes, &machine, usable);
    for (uint32_t k = 0; k < rows[i].count; k++)
      CU_ASSERT_EQUAL(nodes.near[rows[i].from][k], WS_KIND_NODE + rows[i].near[k]);
    CU_ASSERT_EQUAL(of_number(1), 1);
  }
}

/// Node 1 has memory only, and the process may not use node 4. The nearest others serve them.
TEST_CASE(a_node_without_workers_is_served_by_the_nearest)
{
  static const uint32_t index[] = {0, 1, 1, 2, 2, 3}; // 3 is as near to 4 as 5
  begin(6, 8); // numbers 0, 8, 16, 24, 32, 40
  forbid(1);
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    machine.of_cpu[cpu] = machine.of_cpu[cpu] == 2 ? 0 : machine.of_cpu[cpu];
  forbid(4);
  machine.distance[1][2] = 11; // nearer than node 0
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 4); // 0, 2, 3, 5
  for (uint32_t i = 0; i < TEST_COUNT(index); i++)
    CU_ASSERT_EQUAL(of_number(8 * i), index[i]);
  CU_ASSERT_EQUAL(of_number(1), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, 4 * CPUS_A_NODE), 2); // for a thread outside that runs there
  begin(3, 1);
  forbid(0);
  forbid(2);
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 1); // then the pool drops them
}

TEST_MAIN("nodes")
