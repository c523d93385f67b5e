// SPDX-License-Identifier: BSD-3-Clause
/// @file test_nodes.c
/// Which NUMA nodes a pool tells apart, which of them is nearest, and which serves a node without workers.
#include "../../../pool/ws_nodes.h"
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

static void nodes_with_their_own_cpus(void)
{
  begin(2, 1);
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 2);
  CU_ASSERT_EQUAL(of_number(0), 0);
  CU_ASSERT_EQUAL(of_number(1), 1);
  CU_ASSERT_EQUAL(of_number(2), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_hint(&nodes, WS_NODE_ANY), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_hint(&nodes, WS_NODE_NUMBERS), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_hint(&nodes, WS_NODE_NUMBERS + 1), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_hint(&nodes, UINT32_MAX), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, 3), 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, 4), 1);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, -1), 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, (int32_t)WS_CPUS_MAX), 0);
}

static void one_node_makes_no_difference(void)
{
  begin(1, 1);
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 1);
  CU_ASSERT_EQUAL(of_number(0), WS_NODE_NONE);
  CU_ASSERT_PTR_NULL(ws_nodes_here(&nodes));
  begin(3, 1);
  forbid(0);
  forbid(2);
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 1);
  CU_ASSERT_EQUAL(of_number(1), WS_NODE_NONE);
}

/// A ring of six: 0 1 2 3 4 5. The distance of opposite ones is greatest.
static void the_nearest_come_first(void)
{
  begin(6, 1);
  ws_nodes_plan(&nodes, &machine, usable);
  static const uint8_t from_0[] = {0, 1, 5, 2, 4, 3}, from_4[] = {4, 5, 3, 0, 2, 1};
  CU_ASSERT_EQUAL(memcmp(nodes.near[0], from_0, sizeof(from_0)), 0);
  CU_ASSERT_EQUAL(memcmp(nodes.near[4], from_4, sizeof(from_4)), 0);
}

/// Its distances are not known: each node begins with the one after it.
static void equal_distances_are_taken_in_turn(void)
{
  begin(4, 1);
  memset(machine.distance, 0, sizeof(machine.distance));
  ws_nodes_plan(&nodes, &machine, usable);
  static const uint8_t from_2[] = {2, 3, 0, 1};
  CU_ASSERT_EQUAL(memcmp(nodes.near[2], from_2, sizeof(from_2)), 0);
}

/// Node 1 has memory only, and the process may not use node 4. The nearest others serve them.
static void a_node_without_workers_is_served_by_the_nearest(void)
{
  begin(6, 8); // numbers 0, 8, 16, 24, 32, 40
  forbid(1);
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    machine.of_cpu[cpu] = machine.of_cpu[cpu] == 2 ? 0 : machine.of_cpu[cpu];
  forbid(4);
  machine.distance[1][2] = 11; // nearer than node 0
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 4); // 0, 2, 3, 5
  CU_ASSERT_EQUAL(of_number(0), 0);
  CU_ASSERT_EQUAL(of_number(8), 1);
  CU_ASSERT_EQUAL(of_number(16), 1);
  CU_ASSERT_EQUAL(of_number(24), 2);
  CU_ASSERT_EQUAL(of_number(32), 2); // 3 is as near as 5
  CU_ASSERT_EQUAL(of_number(40), 3);
  CU_ASSERT_EQUAL(of_number(1), WS_NODE_NONE);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, 4 * CPUS_A_NODE), 2); // for a thread outside that runs there
}

static void more_nodes_than_a_pool_tells_apart(void)
{
  begin(WS_NODES_MAX + 4, 1);
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, WS_NODES_MAX);
  CU_ASSERT_EQUAL(of_number(WS_NODES_MAX - 1), WS_NODES_MAX - 1);
  CU_ASSERT_EQUAL(of_number(WS_NODES_MAX), WS_NODES_MAX - 1);
  CU_ASSERT_EQUAL(of_number(WS_NODES_MAX + 3), 0);
}

/// The second node's number is the first that a pool does not know.
static void a_number_beyond_those_known(void)
{
  begin(2, WS_NODE_NUMBERS);
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.count, 2);
  CU_ASSERT_EQUAL(of_number(0), 0);
  CU_ASSERT_EQUAL(of_number(WS_NODE_NUMBERS), WS_NODE_NONE);
  CU_ASSERT_EQUAL(nodes.near[0][0], 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&nodes, CPUS_A_NODE), 1);
}

/// Firmware that calls a node far from itself: its own workers come first all the same.
static void a_node_is_nearest_to_itself(void)
{
  begin(3, 1);
  machine.distance[1][1] = 1000;
  ws_nodes_plan(&nodes, &machine, usable);
  CU_ASSERT_EQUAL(nodes.near[1][0], 1);
  CU_ASSERT_EQUAL(of_number(1), 1);
}

TEST_MAIN("nodes", TEST_CASE(nodes_with_their_own_cpus), TEST_CASE(one_node_makes_no_difference),
          TEST_CASE(the_nearest_come_first), TEST_CASE(equal_distances_are_taken_in_turn),
          TEST_CASE(a_node_without_workers_is_served_by_the_nearest),
          TEST_CASE(more_nodes_than_a_pool_tells_apart), TEST_CASE(a_number_beyond_those_known),
          TEST_CASE(a_node_is_nearest_to_itself))
