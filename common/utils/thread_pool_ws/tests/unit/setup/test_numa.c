// SPDX-License-Identifier: BSD-3-Clause
/// @file test_numa.c
/// A machine's nodes as the kernel lists them: made-up machines, and this one.
/// Linked with --wrap of ws_os_read: the files of /sys/devices/system/node.
#include "../../../include/ws_node.h"
#include "../../../setup/ws_topo.h"
#include "../../support/ws_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct {
  const char *name, *text; ///< of a file in the folder of the nodes
} node_file_t;

static const node_file_t *files; ///< of a made-up machine, up to one without a name; NULL = this machine

bool __real_ws_os_read(const char *path, char *text, size_t bytes);
bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  static const char folder[] = "/sys/devices/system/node/";
  if (!files)
    return __real_ws_os_read(path, text, bytes);
  for (const node_file_t *file = files; file->name; file++)
    if (strncmp(path, folder, sizeof(folder) - 1) == 0 && strcmp(path + sizeof(folder) - 1, file->name) == 0)
      return snprintf(text, bytes, "%s", file->text) > 0;
  return false;
}

static ws_machine_nodes_t machine;

static bool read_machine(const node_file_t *of)
{
  memset(&machine, 0, sizeof(machine));
  files = of;
  const bool known = ws_numa_read(&machine);
  files = NULL;
  return known;
}

/// Numbers with gaps, CPUs in several ranges and beyond those known, and a node that has memory only.
static void nodes_cpus_and_distances(void)
{
  static const node_file_t lists[] = {{"online", "0,2-3\n"},
                                      {"node0/cpulist", "0-3,8-11\n"},
                                      {"node0/distance", "10 21 17\n"},
                                      {"node2/cpulist", "4,6,1023-1030\n"},
                                      {"node2/distance", "21 10 28\n"},
                                      {"node3/cpulist", "\n"},
                                      {"node3/distance", "17 28 10\n"},
                                      {NULL, NULL}};
  CU_ASSERT_TRUE(read_machine(lists));
  CU_ASSERT_EQUAL(machine.count, 3);
  CU_ASSERT_EQUAL(machine.number[1], 2);
  CU_ASSERT_EQUAL(machine.number[2], 3);
  static const uint8_t of_cpu[] = {1, 1, 1, 1, 2, 0, 2, 0, 1, 1, 1, 1, 0};
  CU_ASSERT_EQUAL(memcmp(machine.of_cpu, of_cpu, sizeof(of_cpu)), 0);
  CU_ASSERT_EQUAL(machine.of_cpu[WS_CPUS_MAX - 1], 2);
  for (uint32_t cpu = 0; cpu < WS_CPUS_MAX; cpu++)
    CU_ASSERT_NOT_EQUAL(machine.of_cpu[cpu], 3);
  CU_ASSERT_EQUAL(machine.distance[0][1], 21);
  CU_ASSERT_EQUAL(machine.distance[1][2], 28);
  CU_ASSERT_EQUAL(machine.distance[2][0], 17);
}

/// A node without a distance is far. Without any, all are alike.
static void distances_that_are_missing(void)
{
  static const node_file_t lists[] = {{"online", "0-2\n"},
                                      {"node0/cpulist", "0\n"},
                                      {"node0/distance", "10 20"},
                                      {"node1/cpulist", "1\n"},
                                      {"node1/distance", "\n"},
                                      {"node2/cpulist", "2\n"},
                                      {NULL, NULL}};
  CU_ASSERT_TRUE(read_machine(lists));
  CU_ASSERT_EQUAL(machine.distance[0][1], 20);
  CU_ASSERT_EQUAL(machine.distance[0][2], UINT64_MAX);
  for (uint32_t to = 0; to < 3; to++) {
    CU_ASSERT_EQUAL(machine.distance[1][to], UINT64_MAX);
    CU_ASSERT_EQUAL(machine.distance[2][to], UINT64_MAX);
  }
}

static void more_nodes_than_are_looked_at(void)
{
  static char name[WS_MACHINE_NODES_MAX][20];
  static node_file_t lists[WS_MACHINE_NODES_MAX + 2] = {{"online", "0-1023\n"}};
  for (uint32_t i = 0; i < WS_MACHINE_NODES_MAX; i++) {
    snprintf(name[i], sizeof(name[i]), "node%u/cpulist", i);
    lists[i + 1] = (node_file_t){name[i], "\n"};
  }
  CU_ASSERT_TRUE(read_machine(lists));
  CU_ASSERT_EQUAL(machine.count, WS_MACHINE_NODES_MAX);
}

/// Four nodes of two CPUs.
static const node_file_t four[] = {{"online", "0-3\n"},        {"node0/cpulist", "0-1\n"},
                                   {"node1/cpulist", "2-3\n"}, {"node2/cpulist", "4-5\n"},
                                   {"node3/cpulist", "6-7\n"}, {NULL, NULL}};
static struct ws_pool_s pool;

/// A pool of @p workers workers on a machine with these files; on the CPUs of @p mask if they float.
static void plan(const node_file_t *of, uint32_t workers, uint64_t mask, const int32_t *cpu)
{
  static unsigned long word;
  int32_t floating[16];
  memset(floating, -1, sizeof(floating));
  memset(&pool, 0, sizeof(pool));
  word = (unsigned long)mask;
  pool.mask = (ws_cpuset_t){.bytes = sizeof(word), .mask = &word};
  pool.requested = workers;
  pool.settings = test_settings(workers);
  files = of;
  ws_numa_plan(&pool, cpu ? cpu : floating);
  files = NULL;
}

static void the_mask_decides(void)
{
  plan(four, 4, 0xff, NULL);
  CU_ASSERT_EQUAL(pool.nodes.count, 4);
  CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE + 4);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 3), 1);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 4), 2);
  CU_ASSERT_EQUAL(ws_nodes_of_hint(&pool.nodes, ws_node_hint(1)), 1);
  plan(four, 4, 0xc3, NULL); // nodes 0 and 3
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 6), 1);
  CU_ASSERT_NOT_EQUAL(ws_nodes_of_hint(&pool.nodes, ws_node_hint(2)), WS_NODE_NONE);
  plan(four, 4, 0x0c, NULL); // node 1
  CU_ASSERT_EQUAL(pool.nodes.count, 1);
  CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE);
}

static void pinned_workers_decide(void)
{
  plan(four, 2, 0xff, (const int32_t[]){2, 3});
  CU_ASSERT_EQUAL(pool.nodes.count, 1);
  plan(four, 2, 0x03, (const int32_t[]){2, 7}); // outside the mask
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  plan(four, 2, 0x03, (const int32_t[]){7, -1}); // one floats
  CU_ASSERT_EQUAL(pool.nodes.count, 2);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 0), 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(&pool.nodes, 7), 1);
}

/// The machine counts as one node, with a warning if the list names more.
static void files_that_cannot_be_read(void)
{
  static const node_file_t none[] = {{NULL, NULL}};
  static const node_file_t no_cpus[] = {{"online", "0-1\n"}, {"node0/cpulist", "0-1\n"}, {NULL, NULL}};
  CU_ASSERT_FALSE(read_machine(none));
  CU_ASSERT_FALSE(read_machine(no_cpus));
  plan(none, 2, 0x03, NULL);
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE);
  plan(no_cpus, 2, 0x03, NULL);
  CU_ASSERT_EQUAL(test_warnings_with("/sys/devices/system/node"), 1);
  CU_ASSERT_EQUAL(pool.nodes.count, 0);
  CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE);
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

TEST_MAIN("numa", TEST_CASE(nodes_cpus_and_distances), TEST_CASE(distances_that_are_missing),
          TEST_CASE(more_nodes_than_are_looked_at), TEST_CASE(the_mask_decides),
          TEST_CASE(pinned_workers_decide), TEST_CASE(files_that_cannot_be_read), TEST_CASE(hints),
          TEST_CASE(where_memory_lies))
