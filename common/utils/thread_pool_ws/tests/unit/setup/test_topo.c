// SPDX-License-Identifier: BSD-3-Clause
/// @file test_topo.c
/// Where workers are pinned, how many CPUs count, in which order a worker steals; machines with over 1024
/// CPUs, the nodes that the kernel lists, and where memory lies: made-up machines, and this one.
#include "../../../classes/ws_classes.h"
#include "../../../classes/ws_nodes.h"
#include "../../../include/ws_node.h"
#include "../../../setup/ws_setup.h"
#include "../../../sleep/ws_sleep_state.h"
#include "../../support/ws_files.h"

#include <sys/mman.h>

#include "setup_scene.h"

/// Linked with --wrap=sched_getaffinity: a kernel with room for 4096 CPUs, of which the process may use this
/// one too.
static int32_t far_cpu = -1;
static int refused; ///< the error number of a seccomp filter; 0 = there is none

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  if (refused) {
    errno = refused;
    return -1;
  }
  if (far_cpu < 0)
    return __real_sched_getaffinity(pid, bytes, set);
  if (bytes < 4096 / 8) {
    errno = EINVAL;
    return -1;
  }
  memset(set, 0, bytes);
  CPU_SET_S(0, bytes, set);
  CPU_SET_S((size_t)far_cpu, bytes, set);
  return 0;
}

#define SYSTEM "/sys/devices/system/"

/// Linked with --wrap=ws_os_grants.
static uint32_t quota = UINT32_MAX;

static ws_grants_t ws_os_grants_seam(void)
{
  return (ws_grants_t){.cpus = quota};
}

static ws_cpuset_t set_of(const uint32_t *cpu, uint32_t count)
{
  ws_cpuset_t set = {0};
  for (uint32_t i = 0; i < count; i++)
    set.mask[cpu[i] / 64] |= 1ul << (cpu[i] % 64);
  return set;
}

/// The threads of a pool and one beside them, on masks of more and fewer CPUs; what a list of cores has.
TEST_CASE(order_of_cpus)
{
  static const uint32_t cpu[] = {0, 1, 2, 3, 4, 5, 6, 7, 1040};
  static const struct {
    uint32_t count, step, first;
    int32_t plan[9];
  } rows[] = {{8, 2, 0, {0, 2, 4, 6, 1, 3, 5, 7, 0}},    {8, 2, 1, {1, 3, 5, 7, 2, 4, 6, 0, 1}},
              {9, 4, 1, {1, 5, 2, 6, 3, 7, 4, 1040, 0}}, {8, 1, 3, {3, 4, 5, 6, 7, 0, 1, 2, 3}},
              {2, 2, 0, {0, 1, 0, 1, 0, 1, 0, 1, 0}},    {2, 2, 5, {1, 0, 1, 0, 1, 0, 1, 0, 1}},
              {1, 2, 1, {0, 0, 0, 0, 0, 0, 0, 0, 0}}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    const ws_cpuset_t mask = set_of(cpu, rows[i].count);
    ws_settings_t settings = test_settings(9);
    settings.pin_step = rows[i].step;
    settings.pin_first = rows[i].first;
    int32_t plan[9];
    ws_topo_plan(&settings, &mask, plan);
    CU_ASSERT_EQUAL(memcmp(plan, rows[i].plan, sizeof(plan)), 0);
  }
  ws_settings_t settings = test_settings(1);
  far_cpu = 1500;
  CU_ASSERT_EQUAL(ws_settings_cpu(&settings, 0), -1);
  settings.pin_step = settings.pin_first = 1;
  CU_ASSERT_TRUE(ws_settings_cpu(&settings, 0) == 1500 && ws_settings_cpu(&settings, 1) == 0);
  refused = EPERM;
  CU_ASSERT_EQUAL(ws_settings_cpu(&settings, 0), -1);
  refused = 0;
  far_cpu = -1;
  settings.cores = (const int32_t[]){7, -2};
  settings.core_count = 2;
  CU_ASSERT_TRUE(ws_settings_cpu(&settings, 0) == 7 && ws_settings_cpu(&settings, 1) == -1);
  CU_ASSERT_TRUE(ws_settings_cpu(&settings, 2) == -1 && ws_settings_cpu(NULL, 0) == -1);
  settings.workers = UINT32_MAX;
  CU_ASSERT_TRUE(ws_settings_cpu(&settings, 0) == -1 && test_warnings_with("setting workers") == 1);
}

static uint32_t cpus_of(const ws_cpuset_t *mask, const int32_t *cpu, uint32_t workers)
{
  static struct ws_pool_s pool;
  pool.mask = *mask;
  pool.workers = workers;
  ws_topo_count(&pool, cpu);
  return pool.cpus;
}

TEST_CASE(cpus_that_count)
{
  static const uint32_t cpu[] = {0, 1, 2, 3};
  static const int32_t inside[] = {0, -1, 3}, outside[] = {9, 9, 1500, 0};
  ws_cpuset_t mask = set_of(cpu, 4);
  CU_ASSERT_EQUAL(cpus_of(&mask, inside, 3), 4);
  CU_ASSERT_EQUAL(cpus_of(&mask, outside, 4), 6);
  quota = 3;
  CU_ASSERT_EQUAL(cpus_of(&mask, outside, 4), 3);
  quota = 1;
  ws_pool_t *pool = test_pool(2);
  CU_ASSERT_EQUAL(test_stats(pool).cpus, 1);
  test_destroy(pool);
  quota = UINT32_MAX;
  ws_cpuset_t none = set_of(cpu, 0);
  CU_ASSERT_EQUAL(cpus_of(&none, inside, 0), 1);
}

/// CPUs 0 to 3 have two last-level caches, of the even CPUs and of the odd ones. CPU 5 is not in the mask, so
/// its cache is not known.
TEST_CASE(victims_of_the_same_cache_come_first)
{
  enum { WORKERS = 7 };
  static const uint32_t cpu[] = {0, 1, 2, 3};
  static const int32_t pinned_to[WORKERS] = {0, 1, 2, -1, 3, 5, 0};
  static const uint32_t expected[WORKERS][WORKERS - 1] = {
      {2, 6, 1, 3, 4, 5}, {4, 2, 3, 5, 6, 0}, {6, 0, 3, 4, 5, 1}, {4, 5, 6, 0, 1, 2},
      {1, 5, 6, 0, 2, 3}, {6, 0, 1, 2, 3, 4}, {0, 2, 1, 3, 4, 5},
  };
  static struct ws_pool_s pool;
  static ws_worker_t workers[WORKERS], *worker_of[WORKERS];
  uint32_t victims[WORKERS][WORKERS - 1];
  pool.mask = set_of(cpu, 4);
  pool.worker = worker_of;
  pool.workers = WORKERS;
  pool.near.caches = 2;
  for (uint32_t i = 0; i < 4; i++)
    pool.near.cache_of_cpu[i] = i % 2;
  for (uint32_t i = 0; i < WORKERS; i++) {
    workers[i].cpu = pinned_to[i];
    workers[i].victims = victims[i];
    worker_of[i] = &workers[i];
  }
  ws_topo_victims(&pool);
  CU_ASSERT_EQUAL(memcmp(victims, expected, sizeof(expected)), 0);
  pool.near.caches = 0; // not known: in turn from the own number on
  ws_topo_victims(&pool);
  for (uint32_t i = 0; i < WORKERS; i++)
    for (uint32_t k = 0; k < WORKERS - 1; k++)
      CU_ASSERT_EQUAL(victims[i][k], (i + 1 + k) % WORKERS);
}

/// A group with a quota of one CPU may run on several: its workers leave a producer's.
TEST_CASE(quota_of_one_cpu)
{
  far_cpu = 1500; // beside CPU 0
  quota = 1;
  ws_settings_t settings = test_settings(1);
  settings.cores = (const int32_t[]){0};
  settings.core_count = 1;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(pool->cpus, 1);
  CU_ASSERT_EQUAL(pool->allowed_cpus, 2);
  CU_ASSERT_TRUE(ws_sleep_pool(pool)->spares);
  test_destroy(pool);
  quota = UINT32_MAX;
  far_cpu = -1;
}

TEST_CASE(machine_with_over_1024_cpus)
{
  far_cpu = 1500;
  ws_settings_t settings = test_settings(2);
  ws_settings_t defaults;
  ws_settings_default(&defaults);
  CU_ASSERT_EQUAL(defaults.workers, 2);
  settings.pin_step = 1; // the second worker is asked to run on CPU 1500, which does not exist here
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(test_stats(pool).cpus, 2);
  CU_ASSERT_TRUE(ws_os_cpuset_has(&pool->mask, 1500));
  CU_ASSERT_EQUAL(test_warnings_with("CPU 1500"), 1);
  CU_ASSERT_TRUE(runs_hundred(pool));
  test_destroy(pool);
  far_cpu = -1;
}

/// The kernel refuses to name the process's CPUs: a pool works with the online ones, and says so once.
TEST_CASE(cpus_that_are_refused)
{
  static const struct {
    int error;
    const char *list;
    uint32_t count;
  } cases[] = {{EPERM, "0-2,70\n", 4}, {ENOSYS, "0\n", 1}, {EPERM, "\n", 1}, {EPERM, NULL, 1}};
  for (uint32_t i = 0; i < TEST_COUNT(cases); i++) {
    ws_settings_t settings = test_settings(3);
    refused = cases[i].error;
    const file_t online[] = {{cases[i].list ? SYSTEM "cpu/online" : NULL, cases[i].list}, {NULL, NULL}};
    files = online;
    settings.pin_step = 1;
    ws_pool_t *pool = test_create(&settings);
    CU_ASSERT_EQUAL(test_warnings.count, 1);
    CU_ASSERT_EQUAL(test_warnings_with(strerror(cases[i].error)), 1);
    CU_ASSERT_EQUAL(pool->cpus, cases[i].count);
    CU_ASSERT_EQUAL(test_stats(pool).workers, 3);
    CU_ASSERT_EQUAL(test_stats(pool).workers_pinned, 0);
    CU_ASSERT_TRUE(runs_hundred(pool));
    test_destroy(pool);
    ws_settings_default(&settings);
    CU_ASSERT_EQUAL(settings.workers, cases[i].count);
    refused = 0;
    files = NULL;
  }
}

static ws_machine_nodes_t machine;

static bool read_machine(const file_t *of)
{
  memset(&machine, 0, sizeof(machine));
  files = of;
  const bool known = ws_numa_read(&machine);
  files = NULL;
  return known;
}

/// Numbers with gaps, CPUs in several ranges and beyond those known, and a node that has memory only.
TEST_CASE(nodes_cpus_and_distances)
{
  static const file_t lists[] = {{SYSTEM "node/online", "0,2-3\n"},
                                 {SYSTEM "node/node0/cpulist", "0-3,8-11\n"},
                                 {SYSTEM "node/node0/distance", "10 21 17\n"},
                                 {SYSTEM "node/node2/cpulist", "4,6,1023-1030\n"},
                                 {SYSTEM "node/node2/distance", "21 10 28\n"},
                                 {SYSTEM "node/node3/cpulist", "\n"},
                                 {SYSTEM "node/node3/distance", "17 28 10\n"},
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
TEST_CASE(distances_that_are_missing)
{
  static const file_t lists[] = {{SYSTEM "node/online", "0-2\n"},
                                 {SYSTEM "node/node0/cpulist", "0\n"},
                                 {SYSTEM "node/node0/distance", "10 20"},
                                 {SYSTEM "node/node1/cpulist", "1\n"},
                                 {SYSTEM "node/node1/distance", "\n"},
                                 {SYSTEM "node/node2/cpulist", "2\n"},
                                 {NULL, NULL}};
  CU_ASSERT_TRUE(read_machine(lists));
  CU_ASSERT_EQUAL(machine.distance[0][1], 20);
  CU_ASSERT_EQUAL(machine.distance[0][2], UINT64_MAX);
  for (uint32_t to = 0; to < 3; to++) {
    CU_ASSERT_EQUAL(machine.distance[1][to], UINT64_MAX);
    CU_ASSERT_EQUAL(machine.distance[2][to], UINT64_MAX);
  }
}

TEST_CASE(more_nodes_than_are_looked_at)
{
  static char name[WS_MACHINE_NODES_MAX][sizeof(SYSTEM) + 24];
  static file_t lists[WS_MACHINE_NODES_MAX + 2] = {{SYSTEM "node/online", "0-1023\n"}};
  for (uint32_t i = 0; i < WS_MACHINE_NODES_MAX; i++) {
    snprintf(name[i], sizeof(name[i]), SYSTEM "node/node%u/cpulist", i);
    lists[i + 1] = (file_t){name[i], "\n"};
  }
  CU_ASSERT_TRUE(read_machine(lists));
  CU_ASSERT_EQUAL(machine.count, WS_MACHINE_NODES_MAX);
}

/// Four nodes of two CPUs.
static const file_t four[] = {{SYSTEM "node/online", "0-3\n"},        {SYSTEM "node/node0/cpulist", "0-1\n"},
                              {SYSTEM "node/node1/cpulist", "2-3\n"}, {SYSTEM "node/node2/cpulist", "4-5\n"},
                              {SYSTEM "node/node3/cpulist", "6-7\n"}, {NULL, NULL}};
static struct ws_pool_s planned;

/// A pool of @p workers workers on a machine with these files; on the CPUs of @p mask if they float.
static void plan_nodes(const file_t *of, uint32_t workers, uint64_t mask, const int32_t *cpu)
{
  int32_t floating[16];
  memset(floating, -1, sizeof(floating));
  free(planned.nodes);
  memset(&planned, 0, sizeof(planned));
  planned.mask.mask[0] = (unsigned long)mask;
  planned.requested = workers;
  planned.settings = test_settings(workers);
  files = of;
  ws_classes_plan(&planned, cpu ? cpu : floating);
  files = NULL;
}

/// Where its workers may run: on the mask's CPUs, and where they are pinned, also outside the mask.
TEST_CASE(mask_and_pins_decide)
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
    plan_nodes(four, rows[i].workers, rows[i].mask, rows[i].cpu);
    CU_ASSERT_EQUAL(planned.nodes != NULL, rows[i].nodes > 1);
    CU_ASSERT_EQUAL(planned.tasks.kinds, WS_KIND_NODE + (rows[i].nodes > 1 ? rows[i].nodes : 0));
  }
  CU_ASSERT_EQUAL_FATAL(planned.tasks.kinds, WS_KIND_NODE + 2);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(planned.nodes, 0), 0);
  CU_ASSERT_EQUAL(ws_nodes_of_cpu(planned.nodes, 7), 1);
}

/// The machine counts as one node, with a warning if the list names more.
TEST_CASE(files_that_cannot_be_read)
{
  static const file_t none[] = {{NULL, NULL}};
  static const file_t no_cpus[] = {
      {SYSTEM "node/online", "0-1\n"}, {SYSTEM "node/node0/cpulist", "0-1\n"}, {NULL, NULL}};
  CU_ASSERT_FALSE(read_machine(none));
  CU_ASSERT_FALSE(read_machine(no_cpus));
  plan_nodes(none, 2, 0x03, NULL);
  CU_ASSERT_EQUAL(test_warnings.count, 0);
  CU_ASSERT_EQUAL(planned.tasks.kinds, WS_KIND_NODE);
  plan_nodes(no_cpus, 2, 0x03, NULL);
  CU_ASSERT_EQUAL(test_warnings_with("/sys/devices/system/node"), 1);
  CU_ASSERT_PTR_NULL(planned.nodes);
  CU_ASSERT_EQUAL(planned.tasks.kinds, WS_KIND_NODE);
}

static uint32_t preferring; ///< calls
static uint64_t preferred; ///< nodes

static void ws_os_prefer_node_seam(void *memory, size_t bytes, uint32_t node)
{
  preferring++;
  preferred |= UINT64_C(1) << node;
  __real_ws_os_prefer_node(memory, bytes, node);
}

/// The pool's nodes are the machine's 1, 2 and 3.
TEST_CASE(a_nodes_queue_has_its_memory_there)
{
  static const int32_t core[] = {2, 4, 6, 7};
  ws_settings_t settings = test_settings(4);
  settings.cores = core;
  settings.core_count = 4;
  settings.reserve = true;
  preferring = 0;
  files = four;
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_TRUE(preferring == 3 && preferred == 0xe);
  test_destroy(pool);
  files = NULL; // the guard reads, too
}

TEST_CASE(hints_and_counts_of_nodes)
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
    const file_t online[] = {{*rows[i].list ? SYSTEM "node/online" : NULL, rows[i].list}, {NULL, NULL}};
    files = online;
    CU_ASSERT_EQUAL(ws_os_node_count(), rows[i].count);
    files = NULL;
  }
}

/// The kernel's answers, which it may refuse in a container; for more pages than one system call asks for,
/// too. Of each page another byte is asked for.
TEST_CASE(where_memory_lies)
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

TEST_MAIN_SEAMS("topo", SEAM(sched_getaffinity), SEAM(ws_os_prefer_node), SEAM(ws_os_read),
                SEAM(ws_os_grants))
