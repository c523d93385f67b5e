// SPDX-License-Identifier: BSD-3-Clause
/// @file softmodem.h
/// One burst of work, and where each file of the model says which pool's header it was compiled with.
#ifndef SOFTMODEM_H
#define SOFTMODEM_H

#include <stdint.h>
#include <stdio.h>

#include "common/utils/threadPool/task_ans.h"
#include "common/utils/threadPool/thread-pool.h"

#ifdef MODEL_OWN_POOL
#define MODEL_HEADER "own"
#else
#define MODEL_HEADER "shadow"
#endif
#define MODEL_SAY_HEADER(file) fprintf(stderr, "model: %s has the pool's %s header\n", file, MODEL_HEADER)

#define SEGMENTS_MAX 64

/// Work of one task, complete when func returns.
typedef struct {
  uint64_t value;
  uint32_t rounds;
  task_ans_t *ans;
} segment_t;

#ifdef __cplusplus
extern "C" {
#endif

/// Push @p count tasks, join. @return a sum that does not depend on who ran what when
uint64_t ulsch_burst(tpool_t *pool, uint32_t count, uint64_t seed);
uint64_t radio_burst(tpool_t *pool, uint64_t seed);
/// Two elements through the message queue that OAI keeps beside the pool.
uint64_t queue_round(uint64_t seed);

/// A radio unit's and a base station's slots.
uint64_t radio_slots(tpool_t *pool);

/// In the module.
typedef uint64_t (*ldpc_burst_t)(tpool_t *pool, uint64_t seed);

#ifdef __cplusplus
}
#endif

#endif
