// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_writers.h
/// Threads outside the pool that hold blocks for a time: the same ones, however the scans are run.
#ifndef LATCH_WRITERS_H
#define LATCH_WRITERS_H

#include "latch_table.h"

typedef enum { HOLD_SLEEP, HOLD_WORK } latch_hold_t;

typedef struct {
  uint32_t writers; ///< of all tables together
  latch_hold_t hold;
  uint64_t hold_ns, gap_ns; ///< time with a block, sleeping or computing; time without, sleeping
} latch_writing_t;

typedef struct latch_writers_s latch_writers_t;

/// @brief Start the writers. Writer w has blocks of its own in table w % tables->count, and takes them in an
/// order drawn by chance.
/// @return NULL = not enough memory, or a thread could not be made
latch_writers_t *latch_writers_start(const latch_tables_t *tables, const latch_writing_t *how);

/// Sums over all writers since their start.
typedef struct {
  uint64_t holds, hold_ns;
  double cpu_s;
} latch_written_t;

latch_written_t latch_writers_read(const latch_writers_t *writers);

/// @brief End the writers. Ignores NULL.
void latch_writers_end(latch_writers_t *writers);

#endif
