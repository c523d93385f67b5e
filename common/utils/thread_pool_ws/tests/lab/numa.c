// SPDX-License-Identifier: BSD-3-Clause
/// @file numa.c
/// A pool on a machine with several NUMA nodes: where its memory lies. Which node runs which task:
/// scenes/node.c.
///
/// ci/lab numa runs it in virtual machines. On a machine with one node it is skipped.
/// WS_LAB_NODES, WS_LAB_CPU_NODES: nodes that the machine must have, and those with CPUs; unset = any number
#include <sys/mman.h>
#include <sys/syscall.h>

#include "../../classes/ws_nodes.h"
#include "../../include/ws_node.h"
#include "../../include/ws_scan.h"
#include "../support/ws_test.h"

#define WORKERS_MAX 64u
#define NODES_MAX 8u
#define BLOCK_BYTES 65536u
#define BLOCKS 48u
#define CAPACITY 8192u ///< of rings: a huge page would hold several of them

/// The machine: CPU and node of each worker. One CPU of each node is left to other threads.
static int32_t core[WORKERS_MAX];
static int32_t node_of_worker[WORKERS_MAX];
static uint32_t workers, cpu_nodes;
static cpu_set_t all_cpus;

static bool use_cpu(uint32_t cpu)
{
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0;
}

static void use_all_cpus(void)
{
  sched_setaffinity(0, sizeof(all_cpus), &all_cpus);
}

static int32_t node_of_cpu(uint32_t cpu)
{
  int32_t here, node = -1;
  if (use_cpu(cpu))
    ws_os_place(&here, &node);
  use_all_cpus();
  return node;
}

static void read_machine(void)
{
  bool left[NODES_MAX] = {false};
  sched_getaffinity(0, sizeof(all_cpus), &all_cpus);
  for (uint32_t cpu = 0; cpu < CPU_SETSIZE && workers < WORKERS_MAX; cpu++) {
    if (!CPU_ISSET(cpu, &all_cpus))
      continue;
    const int32_t node = node_of_cpu(cpu);
    if (node < 0 || node >= (int32_t)NODES_MAX)
      continue;
    cpu_nodes += !left[node];
    if (left[node]) {
      core[workers] = (int32_t)cpu;
      node_of_worker[workers++] = node;
    }
    left[node] = true;
  }
}

static ws_pool_t *pool;

static void create(void)
{
  ws_settings_t settings = test_settings(workers);
  settings.cores = core;
  settings.core_count = workers;
  settings.queue_capacity = CAPACITY;
  pool = test_create(&settings);
  CU_ASSERT_EQUAL(test_stats(pool).workers_pinned, workers);
}

static uint32_t from_environment(const char *name, uint32_t otherwise)
{
  const char *text = getenv(name);
  return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

TEST_CASE(the_nodes_are_known)
{
  create();
  CU_ASSERT_EQUAL(ws_node_count(), from_environment("WS_LAB_NODES", ws_node_count()));
  CU_ASSERT_EQUAL(cpu_nodes, from_environment("WS_LAB_CPU_NODES", cpu_nodes));
  CU_ASSERT_EQUAL(pool->nodes->count, cpu_nodes);
  for (uint32_t i = 0; i < workers; i++)
    CU_ASSERT_EQUAL(ws_nodes_of_cpu(pool->nodes, core[i]),
                    ws_nodes_of_hint(pool->nodes, ws_node_hint(node_of_worker[i])));
  test_destroy(pool);
}

static void check_node(const char *what, const void *memory, int32_t node)
{
  const int32_t found = ws_node_of(memory);
  if (found != node)
    printf("  %s: on node %d, not %d\n", what, found, node);
  CU_ASSERT_EQUAL(found, node);
}

/// Its first page is also that of structures which the creator writes.
static void check_ring(const ws_queue_t *queue, int32_t node)
{
  const char *cells = (const char *)queue->deque.rings[0].cell;
  for (size_t at = ws_os_page_bytes(); at < CAPACITY * sizeof(ws_cell_t); at += ws_os_page_bytes())
    check_node("the ring", cells + at, node);
  check_node("the end of the ring", cells + CAPACITY * sizeof(ws_cell_t) - 1, node);
}

TEST_CASE(a_workers_ring_lies_on_its_node)
{
  create();
  for (uint32_t i = 0; i < workers; i++)
    check_ring(&pool->worker[i]->queue, node_of_worker[i]);
  test_destroy(pool);
}

static void *push_once(void *cpu)
{
  CU_ASSERT_TRUE(use_cpu(*(const uint32_t *)cpu));
  test_push(pool, test_empty_task, NULL, NULL);
  const ws_queue_t *lane = pool->tasks.queue[pool->workers + 0];
  check_ring(lane, node_of_worker[workers - 1]);
  return NULL;
}

TEST_CASE(a_lanes_ring_lies_on_its_first_threads_node)
{
  uint32_t cpu = (uint32_t)core[workers - 1];
  create();
  test_in_threads(1, push_once, &cpu);
  test_destroy(pool);
}

TEST_CASE(a_nodes_queue_lies_there)
{
  create();
  for (uint32_t i = 0; i < workers; i++) {
    const ws_task_t task = {.func = test_empty_task, .node = ws_node_hint(node_of_worker[i])};
    CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
    const uint32_t node = ws_nodes_of_hint(pool->nodes, task.node);
    check_node("the queue", pool->tasks.shared[WS_KIND_NODE + node].cell, node_of_worker[i]);
  }
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
}

static void *new_block(uint32_t node)
{
  enum { BIND = 2 }; // MPOL_BIND of the kernel
  const unsigned long nodes = 1ul << node;
  void *block = mmap(NULL, BLOCK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CU_ASSERT_PTR_NOT_EQUAL_FATAL(block, MAP_FAILED);
  CU_ASSERT_EQUAL(syscall(SYS_mbind, block, BLOCK_BYTES, BIND, &nodes, 8 * sizeof(nodes), 0), 0);
  memset(block, 1, BLOCK_BYTES);
  CU_ASSERT_EQUAL(ws_node_of(block), (int32_t)node);
  return block;
}

static ws_au64_t sum;

static void add_block(void *unused, void *block, uint32_t index)
{
  uint64_t of_block = index;
  for (uint32_t i = 0; i < BLOCK_BYTES; i++)
    of_block += ((const unsigned char *)block)[i];
  ws_add_relaxed(&sum, of_block);
}

/// Blocks on every node, also on one that has no CPU.
TEST_CASE(a_scan_of_all_nodes)
{
  static void *block[BLOCKS];
  for (uint32_t i = 0; i < BLOCKS; i++)
    block[i] = new_block(i % ws_node_count());
  create();
  ws_store_relaxed(&sum, 0);
  CU_ASSERT_EQUAL(ws_scan(pool, &(ws_scan_t){.block = block, .count = BLOCKS, .scan = add_block}), 0);
  CU_ASSERT_EQUAL(test_value(&sum), (uint64_t)BLOCKS * BLOCK_BYTES + BLOCKS * (BLOCKS - 1) / 2);
  uint64_t pushes = 0; // to the nodes
  for (ws_kind_t kind = 0; kind < pool->tasks.kinds; kind++)
    pushes += ws_load_relaxed(&pool->tasks.shared[kind].pushes);
  CU_ASSERT_TRUE(cpu_nodes < 2 || pushes > 0);
  test_destroy(pool);
  for (uint32_t i = 0; i < BLOCKS; i++)
    munmap(block[i], BLOCK_BYTES);
}

static void skip_unless_possible(void)
{
  if (ws_os_node_count() >= 2)
    read_machine();
  if (cpu_nodes >= 2 && workers >= cpu_nodes)
    return;
  printf("skipped: this machine has not two NUMA nodes with two CPUs each; ci/lab numa has\n");
  exit(77);
}

int main(void)
{
  skip_unless_possible();
  return test_run(0, NULL);
}

TEST_MAIN("lab numa")
