// SPDX-License-Identifier: BSD-3-Clause
/// @file scan_steps.h
/// The four ways to scan the table.
#ifndef SCAN_STEPS_H
#define SCAN_STEPS_H

#include "scan_table.h"
#include "ws_pool.h"

typedef enum {
  STEP_ONE, ///< one thread, the blocks in the table's order
  STEP_NODES, ///< one thread, which moves from node to node and scans the blocks that lie there
  STEP_PARALLEL, ///< ws_scan() without hints
  STEP_HINTS, ///< ws_scan()
  STEPS
} scan_step_t;

/// @brief Scan the whole table. With several scanners, threads outside the pool each begin such a scan at the
/// same moment, with different blocks.
/// @return ns until the last one has ended; 0 = a sum was wrong, or there was no memory
uint64_t scan_steps_run(const table_t *table, ws_pool_t *pool, scan_step_t step, uint32_t scanners);

#endif
