// SPDX-License-Identifier: BSD-3-Clause
/// @file batch.h
/// Several jobs and the wait for all of them, the same in every shape of the interface:
///
///   CONTRACT_SHAPE_A       queue elements go in and come back
///   CONTRACT_SHAPE_B1      tasks, and an array of answers
///   CONTRACT_SHAPE_B2      tasks, and a counting group
///   CONTRACT_SHAPE_B2PLUS  B2 with get_tpool_worker_index()
///   WS_OAI_PUSH_BATCH      the headers have pushTpool_batch()
#ifndef CONTRACT_BATCH_H
#define CONTRACT_BATCH_H

#include <stdint.h> // IWYU pragma: export

#if defined(CONTRACT_SHAPE_A)
#include "thread-pool.h" // IWYU pragma: export
#define CONTRACT_TASKS 0
#else
#include "notified_fifo.h" // IWYU pragma: export
#include "task_ans.h" // IWYU pragma: export
#include "thread-pool.h" // first: B1's notified_fifo.h needs what it includes
#define CONTRACT_TASKS 1
#endif
#if defined(CONTRACT_SHAPE_B2PLUS) && !defined(CONTRACT_SHAPE_B2)
#define CONTRACT_SHAPE_B2
#endif

#include "../../base/ws_atomic.h" // IWYU pragma: export

#define BATCH_MAX 256
typedef struct {
  void (*func)(void *);
  void *arg;
  void *answer;
} batch_job_t;

typedef struct {
  uint32_t count; ///< units in all: jobs, or completions by hand
  ws_au32_t used;
#if CONTRACT_TASKS
  batch_job_t job[BATCH_MAX];
#ifdef CONTRACT_SHAPE_B1
  task_ans_t answer[BATCH_MAX];
#else
  task_ans_t answer;
#endif
#else
  notifiedFIFO_t response;
#endif
} batch_t;

void batch_begin(batch_t *batch, uint32_t count);
/// @brief Push one of the jobs.
void batch_push(batch_t *batch, tpool_t *pool, void (*func)(void *), void *arg);
void batch_end(batch_t *batch, tpool_t *pool);

#if CONTRACT_TASKS
/// @brief Complete @p count units by hand.
void batch_complete(batch_t *batch, uint32_t count);
#endif

/// @brief Push a job for which no thread waits. Nothing of it is on the heap: one that never ran would be a
/// leak.
void push_alone(tpool_t *pool, void (*func)(void *), void *arg);

#endif
