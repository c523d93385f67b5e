// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fifos.h
/// Response FIFOs of a scenario. Each lies in memory of its own, which is freed right after its last pull, as
/// a stack's is.
#ifndef SIM_FIFOS_H
#define SIM_FIFOS_H

#include "common/utils/threadPool/thread-pool.h"

typedef struct {
  notifiedFIFO_t *queue;
  uint32_t id;
  uint32_t pool; ///< index
  uint32_t users; ///< threads that abort it at present
  bool aborted;
} sim_fifo_t;

/// A thread that polls may be real-time: the workers get its CPU in between.
#define SIM_FIFOS_POLL_PS (100 * SIM_PS_PER_US)

/// @return NULL: there are too many
sim_fifo_t *sim_fifos_new(uint32_t pool);

/// @brief Its owner pulls no more. Waits for threads that abort it.
void sim_fifos_free(sim_fifo_t *fifo);

/// @brief The pool is aborted: abort those of its FIFOs that are there.
void sim_fifos_abort(uint32_t pool);

#endif
