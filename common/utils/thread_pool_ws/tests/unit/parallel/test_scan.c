// SPDX-License-Identifier: BSD-3-Clause
/// @file test_scan.c
/// ws_scan.h: each block is scanned once, with the hint of the node on which the kernel says that it lies.
///
/// The machine pretends to have two nodes.
/// Linked with --wrap of ws_classes_plan, ws_os_nodes_of and ws_pool_push.
#include "../../../classes/ws_nodes.h"
#include "../../../include/ws_node.h"
#include "../../../include/ws_scan.h"
#include "../../support/ws_seam.h"

#define BLOCKS 600u

static char array[BLOCKS][16];
static void *block[BLOCKS];
static ws_au32_t scanned[BLOCKS], wrong;
static int kernel_says; ///< 0, or why it does not tell
static uint32_t hints[3], asked;
static bool refuse;

static void ws_classes_plan_seam(struct ws_pool_s *of, const int32_t *cpu)
{
  of->tasks.kinds = WS_KIND_NODE + 2;
  of->nodes = calloc(1, sizeof(*of->nodes)); // freed with the pool
  *of->nodes = (ws_nodes_t){.count = 2,
                            .of_number = {0, 1},
                            .near = {{WS_KIND_NODE, WS_KIND_NODE + 1}, {WS_KIND_NODE + 1, WS_KIND_NODE}}};
}

/// Every third block has no memory yet; the others lie on both nodes by turns.
static int ws_os_nodes_of_seam(uint32_t count, void *const *address, int32_t *node)
{
  asked++;
  for (uint32_t i = 0; i < count; i++)
    node[i] = address[i] != block[i] ? 999 : i % 3 == 2 ? -ENOENT : (int32_t)(i % 3);
  return kernel_says;
}

static int ws_pool_push_seam(ws_pool_t *pool, ws_task_t task)
{
  hints[task.node < 3 ? task.node : 0]++;
  return refuse ? -ECANCELED : __real_ws_pool_push(pool, task);
}

static ws_pool_t *to_abort; ///< by the next block that is scanned; NULL = none
static test_threads_t aborting;
static test_gate_t gate;

static void scan_block(void *arg, void *which, uint32_t index)
{
  if (to_abort) {
    test_abort(&aborting, to_abort);
    to_abort = NULL;
    test_gate_let(&gate, 1);
  }
  if (arg != &array || which != block[index])
    ws_add_relaxed(&wrong, 1);
  ws_add_relaxed(&scanned[index], 1);
}

static void scan(ws_pool_t *pool, uint32_t count, bool no_hints)
{
  const ws_scan_t how = {
      .block = block, .count = count, .scan = scan_block, .arg = &array, .no_hints = no_hints};
  for (uint32_t i = 0; i < BLOCKS; i++) {
    block[i] = array[i];
    ws_store_relaxed(&scanned[i], 0);
  }
  memset(hints, 0, sizeof(hints));
  asked = 0;
  CU_ASSERT_EQUAL(ws_scan(pool, &how), 0);
  for (uint32_t i = 0; i < BLOCKS; i++)
    CU_ASSERT_EQUAL(ws_load_relaxed(&scanned[i]), i < count);
  CU_ASSERT_EQUAL(ws_load_relaxed(&wrong), 0);
}

/// Without hints if none are wanted, or the kernel does not tell. The caller scans what the pool does not
/// take.
TEST_CASE(each_block_on_its_node)
{
  static const struct {
    bool no_hints, refuse;
    int kernel_says;
    uint32_t asked, any, of_node; ///< hints for any node, and for each
  } rows[] = {{false, false, 0, 1, BLOCKS / 3, BLOCKS / 3},
              {true, false, 0, 0, BLOCKS, 0},
              {false, false, -EPERM, 1, BLOCKS, 0},
              {false, true, 0, 1, BLOCKS / 3, BLOCKS / 3}};
  ws_pool_t *pool = test_pool(2);
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    kernel_says = rows[i].kernel_says;
    refuse = rows[i].refuse;
    scan(pool, BLOCKS, rows[i].no_hints);
    CU_ASSERT_EQUAL(asked, rows[i].asked);
    CU_ASSERT_EQUAL(hints[WS_NODE_ANY], rows[i].any);
    CU_ASSERT_EQUAL(hints[ws_node_hint(0)], rows[i].of_node);
    CU_ASSERT_EQUAL(hints[ws_node_hint(1)], rows[i].of_node);
  }
  kernel_says = 0;
  refuse = false;
  scan(pool, 1, false);
  scan(pool, 0, false);
  test_destroy(pool);
}

/// An abort skips queued blocks: the caller scans them.
TEST_CASE(a_pool_that_is_aborted_meanwhile)
{
  ws_pool_t *pool = test_pool(1);
  test_gate_init(&gate);
  test_hold(pool, &gate, 1); // so the caller scans the first block
  to_abort = pool;
  scan(pool, BLOCKS, false);
  test_join(&aborting);
  CU_ASSERT_EQUAL(test_stats(pool).skipped_tasks, BLOCKS - 1);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

TEST_CASE(wrong_arguments)
{
  ws_pool_t *pool = test_pool(1);
  const ws_scan_t how = {.block = block, .count = 1, .scan = scan_block};
  CU_ASSERT_EQUAL(ws_scan(NULL, &how), -EINVAL);
  CU_ASSERT_EQUAL(ws_scan(pool, NULL), -EINVAL);
  CU_ASSERT_EQUAL(ws_scan(pool, &(ws_scan_t){.block = block, .count = 1}), -EINVAL);
  CU_ASSERT_EQUAL(ws_scan(pool, &(ws_scan_t){.count = 1, .scan = scan_block}), -EINVAL);
  CU_ASSERT_EQUAL(ws_scan(pool, &(ws_scan_t){.scan = scan_block}), 0);
  const ws_scan_t too_many = {.block = block, .count = WS_GROUP_UNITS_MAX + 1, .scan = scan_block};
  CU_ASSERT_EQUAL(ws_scan(pool, &too_many), -EINVAL);
  test_destroy(pool);
}

TEST_MAIN_SEAMS("scan", SEAM(ws_classes_plan), SEAM(ws_os_nodes_of), SEAM(ws_pool_push))
