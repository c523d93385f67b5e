// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_scan.c
/// ws_scan.h.
#include "../include/ws_scan.h"

#include <errno.h>
#include <stdlib.h>

#include "../include/ws_group.h"
#include "../include/ws_node.h"
#include "../pool/ws_types.h"

/// One block's task.
typedef struct {
  const ws_scan_t *scan;
  uint32_t index;
  bool done; ///< false after the join: an abort has skipped the task
} block_t;

static void scan_block(void *block_arg)
{
  block_t *block = block_arg;
  block->scan->scan(block->scan->arg, block->scan->block[block->index], block->index);
  block->done = true;
}

/// @param node  of each block; NULL = not known
static void run(ws_pool_t *pool, const ws_scan_t *scan, block_t *block, const int32_t *node)
{
  ws_group_t group;
  ws_group_init(&group, scan->count);
  for (uint32_t i = 0; i < scan->count; i++) {
    block[i] = (block_t){.scan = scan, .index = i};
    const ws_task_t task = {.func = scan_block,
                            .arg = &block[i],
                            .group = &group,
                            .node = node ? ws_node_hint(node[i]) : WS_NODE_ANY};
    if (ws_pool_push(pool, task) < 0) {
      scan_block(&block[i]);
      ws_group_complete(&group, 1);
    }
  }
  ws_group_wait(&group, pool);
  for (uint32_t i = 0; i < scan->count; i++)
    if (!block[i].done)
      scan_block(&block[i]);
}

int ws_scan(ws_pool_t *pool, const ws_scan_t *scan)
{
  if (!pool || !scan || !scan->scan || (!scan->block && scan->count > 0) || scan->count > WS_GROUP_UNITS_MAX)
    return -EINVAL;
  block_t *block = calloc(scan->count + 1, sizeof(block_t));
  int32_t *node = calloc(scan->count + 1, sizeof(int32_t));
  if (block && node) {
    const bool hints = !scan->no_hints && pool->nodes;
    run(pool, scan, block, hints && ws_os_nodes_of(scan->count, scan->block, node) == 0 ? node : NULL);
  }
  const int result = block && node ? 0 : -ENOMEM;
  free(block);
  free(node);
  return result;
}
