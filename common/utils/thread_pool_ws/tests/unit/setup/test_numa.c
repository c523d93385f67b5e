// SPDX-License-Identifier: BSD-3-Clause
/// @file test_numa.c
/// A machine's nodes as the kernel lists them, and where memory lies: made-up machines, and this one.
/// Linked with --wrap of ws_os_read: the files of /sys/devices/system/node.
#include "../../../include/ws_node.h"
#include "../../../setup/ws_topo.h"
#include "../../support/ws_test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

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

/// Where its workers may run: on the mask's CPUs, and where they are pinned, also outside the mask.
static void mask_and_pins_decide(void)
{
  static const int32_t of_one[] = {2, 3}, outside[] = {2, 7}, one_floats[] = {7, -1};
  static const struct {
    uint32_t workers;
    uint64_t mask;
    const int32_t *cpu;
    uint32_t nodes;
  } rows[] = {{4, 0xff, NULL, 4},   {4, 0xc3, NULL, 2},    {4, 0x0c, NULL, 1},
              {2, 0xff, of_one, 1}, {2, 0x03, outside, 2}, {2, 0x03, one_floats, 2}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    plan(four, rows[i].workers, rows[i].mask, rows[i].cpu);
    CU_ASSERT_EQUAL(pool.nodes.count, rows[i].nodes);
    CU_ASSERT_EQUAL(pool.tasks.kinds, WS_KIND_NODE + (rows[i].nodes > 1 ? rows[i].nodes : 0));
  }
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

static void hints_and_counts(void)
{
  CU_ASSERT_EQUAL(ws_node_hint(-ENOENT), WS_NODE_ANY);
  CU_ASSERT_EQUAL(ws_node_hint(0), 1);
  CU_ASSERT_EQUAL(ws_node_hint(7), 8);
  static const struct {
    const char *list;
    uint32_t count;
  } rows[] = {{"", 1},        {"\n", 1},    {"0\n", 1},           {"0-1\n", 2},
              {"0-1,4\n", 3}, {"0,8\n", 2}, {"0,2-3,16-19\n", 7}, {"252\n", 1}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const node_file_t online[] = {{*rows[i].list ? "online" : NULL, rows[i].list}, {NULL, NULL}};
    files = online;
    CU_ASSERT_EQUAL(ws_os_node_count(), rows[i].count);
    files = NULL;
  }
}

/// The kernel's answers, which it may refuse in a container; for more pages than one system call asks for, too. Of
/// each page another byte is asked for.
static void where_memory_lies(void)
{
  enum { PAGES = 600 };
  static void *address[PAGES];
  static int32_t node[PAGES];
  const size_t bytes = ws_os_page_bytes();
  char *memory = mmap(NULL, PAGES * bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_PTR_NOT_EQUAL_FATAL(memory, MAP_FAILED);
  const int32_t untouched = ws_node_of(memory + 1);
  if (untouched == -EPERM || untouched == 0) {
    printf("  (the kernel does not tell where memory lies)\n");
    munmap(memory, PAGES * bytes);
    return;
  }
  CU_ASSERT_TRUE(untouched == -ENOENT || untouched == -EFAULT);
  for (uint32_t i = 0; i < PAGES; i++) {
    address[i] = memory + i * bytes + i;
    memory[i * bytes] = 1;
    node[i] = INT32_MIN;
  }
  CU_ASSERT_TRUE(ws_os_nodes_of(PAGES, address, node) >= 0);
  for (uint32_t i = 0; i < PAGES; i++)
    CU_ASSERT_TRUE(node[i] >= 0);
  CU_ASSERT_TRUE(ws_node_of(memory + 1) >= 0);
  if (ws_node_count() == 1)
    CU_ASSERT_EQUAL(ws_node_of(memory), ws_node_of(&memory));
  munmap(memory, PAGES * bytes);
  CU_ASSERT_TRUE(ws_node_of(memory) == -EFAULT || ws_node_of(memory) == -ENOENT);
}

TEST_MAIN("numa", TEST_CASE(nodes_cpus_and_distances), TEST_CASE(distances_that_are_missing),
          TEST_CASE(more_nodes_than_are_looked_at), TEST_CASE(mask_and_pins_decide),
          TEST_CASE(files_that_cannot_be_read), TEST_CASE(hints_and_counts), TEST_CASE(where_memory_lies))
