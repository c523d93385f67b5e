// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_scan.h
/// Scan a partitioned array: one task for each block, run on the NUMA node on which the block lies.
#ifndef WS_SCAN_H
#define WS_SCAN_H

#include <stddef.h>

#include "ws_pool.h" // IWYU pragma: export

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// A partitioned array. The blocks may lie anywhere.
typedef struct {
  void *const *block; ///< the address of each block
  uint32_t count; ///< blocks; 0 .. WS_GROUP_UNITS_MAX
  /// Called once for each block, by several threads at once.
  void (*scan)(void *arg, void *block, uint32_t index);
  void *arg;
  bool no_hints; ///< do not ask where the blocks lie: any thread takes any block
} ws_scan_t;

/// @brief Scan all blocks on the threads of @p pool and the caller; return when all have been scanned.
/// scan must return, and the caller cannot be cancelled meanwhile: see ws_reduce(). There are no slots.
/// On a machine with several NUMA nodes the kernel is asked once where the blocks lie (move_pages(2)). If it
/// does not answer, the tasks carry no hint.
/// @return 0; -EINVAL = @p pool, @p scan or its function is NULL, or block is NULL and count is not 0, or
///         count is too large; -ENOMEM: no block has been scanned. The caller scans a block whose task cannot
///         be pushed, or is skipped because the pool is aborted meanwhile
/// @threads   any, also inside a task
/// @ordering  as ws_group_wait()
int ws_scan(ws_pool_t *pool, const ws_scan_t *scan);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
#endif
