// SPDX-License-Identifier: BSD-3-Clause
/// @file scan_table.h
/// The table that is scanned: blocks of 64-bit words, one after the other on the NUMA nodes.
#ifndef SCAN_TABLE_H
#define SCAN_TABLE_H

#include <stdbool.h>
#include <stddef.h>

#include "scan_nodes.h"

typedef struct {
  void **block; ///< their addresses, in the table's order
  void **by_node; ///< those of the first node, then those of the second, ...
  uint32_t count; ///< blocks
  size_t block_bytes; ///< a multiple of the page
  uint64_t sum; ///< of all words, as they were written
  uint32_t misplaced; ///< blocks that the kernel finds on another node than they were written on
  const nodes_t *nodes;
  char *memory;
} table_t;

/// @brief Map the table. A thread on each node writes the node's blocks, so that the kernel puts them there.
/// The calling thread may run on the whole mask afterwards.
/// @return false = there is not enough memory
bool table_make(table_t *table, const nodes_t *nodes, size_t bytes, size_t block_bytes);

void table_free(table_t *table);

/// @return the sum of the words of one block
uint64_t table_block_sum(const table_t *table, const void *block);

/// @return the node, as an index into nodes->node, on which block number @p index lies
static inline uint32_t table_node(const table_t *table, uint32_t index)
{
  return index % table->nodes->count;
}

#endif
