// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_table.h
/// Tables of blocks, each block with a latch, each table on one NUMA node. Writers change words of a block so
/// that the sum of its words is wrong while they hold the latch, and right again when they leave.
#ifndef LATCH_TABLE_H
#define LATCH_TABLE_H

#include <stddef.h>

#include "latch_lock.h"
#include "scan_nodes.h"

typedef struct {
  _Alignas(64) latch_t latch;
  uint64_t *word;
} latch_block_t;

typedef struct {
  latch_block_t *block; ///< [blocks]
  char *memory;
  uint64_t sum; ///< of all words
  int32_t node; ///< the kernel's number
} latch_table_t;

typedef struct {
  latch_table_t *table; ///< [count]
  uint32_t count, blocks; ///< tables, and blocks of each
  size_t block_bytes;
} latch_tables_t;

/// @brief Map the tables, one after the other on the nodes, and write them there. The calling thread may run
/// on the whole mask afterwards.
/// @return false = there is not enough memory
bool latch_tables_make(latch_tables_t *tables, const nodes_t *nodes, latch_kind_t kind);

void latch_tables_free(latch_tables_t *tables);

/// @return the sum of the words of one block
uint64_t latch_block_sum(const latch_block_t *block, size_t block_bytes);

/// @return ns that the calling thread takes to sum up a block that nothing else uses; the least of several
/// passes over a table
double latch_block_ns(const latch_tables_t *tables);

#endif
