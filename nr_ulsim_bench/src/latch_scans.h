// SPDX-License-Identifier: BSD-3-Clause
/// @file latch_scans.h
/// Clients that each ask for one scan after the other: a walk over all blocks of a table.
#ifndef LATCH_SCANS_H
#define LATCH_SCANS_H

#include "latch_table.h"

/// How a scan runs.
typedef enum {
  HOW_THREADS, ///< each client is a thread, pthread_rwlock_t
  HOW_TASKS, ///< a scan is a plain task of the pool, pthread_rwlock_t
  HOW_SAME, ///< a plain task, with the latch of the fibers, which blocks the worker
  HOW_FIBERS, ///< each client is a fiber, which yields when it meets a held latch
  HOW_HINTS, ///< a fiber with the table's node as a hint
} latch_how_t;

typedef struct {
  latch_how_t how;
  uint32_t scans; ///< clients
  uint32_t workers; ///< of the pool
} latch_scanning_t;

typedef struct latch_scans_s latch_scans_t;

/// @brief Start the clients. Client i scans table i % tables->count, from a block of its own onwards.
/// @return NULL = not enough memory, or threads or a pool could not be made
latch_scans_t *latch_scans_start(const latch_tables_t *tables, const nodes_t *nodes,
                                 const latch_scanning_t *how);

/// Sums over all clients since their start; wait_ns has the waits under way, too.
typedef struct {
  uint64_t blocks, waits, wait_ns, wrong; ///< blocks summed up; latches that were held; sums that were wrong
  uint64_t starved; ///< clients that have got no block since times were kept
} latch_scanned_t;

latch_scanned_t latch_scans_read(const latch_scans_t *scans);

/// @brief Keep the time of each scan that ends from now on, or no longer.
void latch_scans_keep(latch_scans_t *scans, bool keep);

/// @brief The times that were kept, from the request to the result, queueing included.
/// @param count  out
uint64_t *latch_scans_times(latch_scans_t *scans, uint32_t *count);

/// @brief End all scans under way. @return false = a push had failed
bool latch_scans_stop(latch_scans_t *scans);

/// @brief Ignores NULL.
void latch_scans_free(latch_scans_t *scans);

#endif
