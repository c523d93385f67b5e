// SPDX-License-Identifier: BSD-3-Clause
/// @file scan_stream.h
/// The memory's bandwidth, measured as STREAM does: threads without a pool, each with its own part.
#ifndef SCAN_STREAM_H
#define SCAN_STREAM_H

#include <stdbool.h>

#include "scan_table.h"

/// Three arrays of doubles.
typedef struct {
  double *memory;
  uint64_t length; ///< elements of each
  uint32_t threads;
  const nodes_t *nodes;
} triad_t;

/// @brief Read the table. Each thread sums up a part: if pinned, of the blocks on its own node.
/// @return ns; 0 = the sum was wrong, or there was no memory
uint64_t stream_read(const table_t *table, uint32_t threads, bool pinned);

/// @brief Map three arrays that have @p bytes together, each part written by the thread that will use it.
/// @return false = there is not enough memory
bool triad_make(triad_t *triad, const nodes_t *nodes, size_t bytes, uint32_t threads);

/// @brief Compute a[i] = b[i] + 3 c[i]. @return ns; 0 = an element is wrong
uint64_t triad_run(triad_t *triad, bool pinned);

void triad_free(triad_t *triad);

#endif
