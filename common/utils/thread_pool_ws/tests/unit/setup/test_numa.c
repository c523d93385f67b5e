// SPDX-License-Identifier: BSD-3-Clause
/// @file test_numa.c
/// A machine's nodes as hwloc describes them: synthetic topologies, and those of this machine.
/// Linked with --wrap of ws_os_node_count: the machine pretends to have several nodes.
#include "../../../include/ws_node.h"
#include "../../../setup/ws_topo.h"
#include "../../support/ws_test.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32_t pretended;

uint32_t __real_ws_os_node_count(void);
uint32_t __wrap_ws_os_node_count(void);

uint32_t __wrap_ws_os_node_count(void)
{
  return pretended > 0 ? pretended : __real_ws_os_node_count();
}

static struct ws_pool_s pool;

/// A pool of @p workers workers that float on the CPUs of @p mask, on a machine that hwloc describes so.
static void plan(const char *description, uint32_t workers, uint64_t mask, const int32_t *cpu)
{
  static unsigned long word;
  int32_t floating[16];
  memset(floating, -1, sizeof(floating));
  memset(&pool, 0, sizeof(pool));
  word = (unsigned long)mask;
  pool.mask = (ws_cpuset_t){.bytes = sizeof(word), .mask = &word};
  pool.requested = workers;
  setenv("HWLOC_SYNTHETIC", description, 1);
  pretended = 2;
  ws_numa_plan(&pool, cpu ? cpu : floating);
  pretended = 0;
  unsetenv("HWLOC_SYNTHETIC");
}

/// Without hwloc the machine counts as one node.
static bool reads_nodes(void)
{
  static ws_machine_nodes_t machine;
  memset(&machine, 0, sizeof(machine));
  return ws_numa_read(&machine);
}

static void nodes_and_cpus_of_a_description(void)
{
  plan("NUMANode:2 core:2 pu:2", 4, 0xff, NULL);
  if (!reads_nodes()) {
    CU_ASSERT_EQUAL(pool.nodes.count, 0);
    CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE);
    return;
  }
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE + 2);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 3), 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 4), 1);
  CU_ASSERT_EQUAL(ws_nodes_of_hint(&pool.nodes, ws_node_hint(1)), 1);
}

static void the_mask_leaves_nodes_out(void)
{
  if (!reads_nodes())
    return;
  plan("NUMANode:4 pu:2", 4, 0xc3, NULL); // nodes 0 and 3
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 6), 1);
  CU_ASSERT_NOT_EQUAL(ws_nodes_of_hint(&pool.nodes, ws_node_hint(2)), WS_NODE_NONE);
  plan("NUMANode:4 pu:2", 4, 0x0c, NULL); // node 1
  CU_ASSERT_EQUAL(pool.nodes.count, 1);
  CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE);
}

static void pinned_workers_decide(void)
{
  if (!reads_nodes())
    return;
  plan("NUMANode:4 pu:2", 2, 0xff, (const int32_t[]){2, 3});
  CU_ASSERT_EQUAL(pool.nodes.count, 1);
  plan("NUMANode:4 pu:2", 2, 0x03, (const int32_t[]){2, 7}); // outside the mask
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  plan("NUMANode:4 pu:2", 2, 0x03, (const int32_t[]){7, -1}); // one floats
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 0), 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 7), 1);
}

/// Three nodes, of which the last has no CPU: as memory of another kind has.
static void a_description_with_memory_only(void)
{
  if (!reads_nodes())
    return;
  plan("[NUMANode] Package:2 [NUMANode] pu:2", 2, 0x0f, NULL);
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
}

static void a_description_that_hwloc_refuses(void)
{
  plan("nonsense", 2, 0x03, NULL);
  CU_ASSERT_TRUE(pool.tasks.kinds >= WS_KIND_NODE);
}

static void hints(void)
{
  CU_ASSERT_EQUAL(ws_node_hint(-ENOENT), WS_NODE_ANY);
  CU_ASSERT_EQUAL(ws_node_hint(0), 1);
  CU_ASSERT_EQUAL(ws_node_hint(7), 8);
  CU_ASSERT_TRUE(ws_node_count() >= 1);
}

/// The kernel's answers. It may refuse them in a container.
static void where_memory_lies(void)
{
  const size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
  char *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_PTR_NOT_EQUAL_FATAL(page, MAP_FAILED);
  const int32_t untouched = ws_node_of(page + 1);
  if (untouched == -EPERM || untouched == 0) {
    printf("  (the kernel does not tell where memory lies)\n");
    munmap(page, bytes);
    return;
  }
  CU_ASSERT_TRUE(untouched == -ENOENT || untouched == -EFAULT);
  page[bytes - 1] = 1;
  const int32_t node = ws_node_of(page + 1);
  CU_ASSERT_TRUE(node >= 0);
  if (ws_node_count() == 1)
    CU_ASSERT_EQUAL(node, ws_node_of(&node));
  munmap(page, bytes);
  CU_ASSERT_TRUE(ws_node_of(page) == -EFAULT || ws_node_of(page) == -ENOENT);
}

TEST_MAIN("numa", TEST_CASE(nodes_and_cpus_of_a_description), TEST_CASE(the_mask_leaves_nodes_out),
          TEST_CASE(pinned_workers_decide), TEST_CASE(a_description_with_memory_only),
          TEST_CASE(a_description_that_hwloc_refuses), TEST_CASE(hints), TEST_CASE(where_memory_lies))
