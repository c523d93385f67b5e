// SPDX-License-Identifier: BSD-3-Clause
#include "scan_steps.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "scan_together.h"
#include "ws_scan.h"

/// One scan of the table.
typedef struct {
  const table_t *table;
  uint32_t index, scanners; ///< its number, of so many
  void **block; ///< in the order in which they are scanned
  _Atomic uint64_t sum;
  bool failed;
} scan_t;

typedef struct {
  const table_t *table;
  ws_pool_t *pool;
  scan_step_t step;
  scan_t *scan; ///< [scanner]
} scanners_t;

static void scan_block(void *scan_arg, void *block, uint32_t index)
{
  scan_t *const scan = scan_arg;
  (void)index;
  atomic_fetch_add_explicit(&scan->sum, table_block_sum(scan->table, block), memory_order_relaxed);
}

static void scan_in_order(scan_t *scan)
{
  for (uint32_t i = 0; i < scan->table->count; i++)
    scan_block(scan, scan->block[i], i);
}

/// Block i of the table lies on node i % nodes->count, so the first nodes may have a block more.
static void scan_node(scan_t *scan, uint32_t node)
{
  const table_t *const table = scan->table;
  const uint32_t least = table->count / table->nodes->count, more = table->count % table->nodes->count;
  const uint32_t blocks = least + (node < more);
  void *const *const block = table->by_node + node * least + (node < more ? node : more);
  const uint32_t first = (uint32_t)((uint64_t)blocks * scan->index / scan->scanners);
  for (uint32_t i = 0; i < blocks; i++)
    scan_block(scan, block[(first + i) % blocks], i);
}

static void scan_node_by_node(scan_t *scan)
{
  const nodes_t *const nodes = scan->table->nodes;
  cpu_set_t before;
  sched_getaffinity(0, sizeof before, &before);
  for (uint32_t n = 0; n < nodes->count; n++) {
    const uint32_t node = (scan->index + n) % nodes->count;
    if (nodes->count > 1)
      nodes_move(&nodes->node[node].cpus);
    scan_node(scan, node);
  }
  nodes_move(&before);
}

static void scan_table(void *scanners_arg, uint32_t index)
{
  const scanners_t *const all = scanners_arg;
  scan_t *const scan = &all->scan[index];
  if (all->step == STEP_ONE) {
    scan_in_order(scan);
  } else if (all->step == STEP_NODES) {
    scan_node_by_node(scan);
  } else {
    const ws_scan_t how = {.block = scan->block,
                           .count = scan->table->count,
                           .scan = scan_block,
                           .arg = scan,
                           .no_hints = all->step == STEP_PARALLEL};
    scan->failed = ws_scan(all->pool, &how) < 0;
  }
}

/// Each scanner begins elsewhere, so that one does not find in the cache what another has just read.
static bool prepare(scan_t *scan, const table_t *table, uint32_t index, uint32_t scanners)
{
  *scan = (scan_t){.table = table, .index = index, .scanners = scanners};
  scan->block = malloc(table->count * sizeof *scan->block);
  const uint32_t first = (uint32_t)((uint64_t)table->count * index / scanners);
  for (uint32_t i = 0; scan->block && i < table->count; i++)
    scan->block[i] = table->block[(first + i) % table->count];
  return scan->block;
}

uint64_t scan_steps_run(const table_t *table, ws_pool_t *pool, scan_step_t step, uint32_t scanners)
{
  scanners_t all = {table, pool, step, calloc(scanners, sizeof(scan_t))};
  bool good = all.scan;
  for (uint32_t i = 0; good && i < scanners; i++)
    good = prepare(&all.scan[i], table, i, scanners);
  const uint64_t taken_ns = good ? together(scanners, table->nodes, NULL, scan_table, &all) : 0;
  for (uint32_t i = 0; all.scan && i < scanners; i++) {
    good = good && !all.scan[i].failed && all.scan[i].sum == table->sum;
    free(all.scan[i].block);
  }
  free(all.scan);
  return good ? taken_ns : 0;
}
