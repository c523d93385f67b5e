// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_made_up.h
/// A pool of made-up workers: no thread runs, the test plays them. Each source file that includes it has one.
#ifndef WS_MADE_UP_H
#define WS_MADE_UP_H

#include "../../prewake/ws_prewake_state.h" // IWYU pragma: export
#include "ws_test.h" // IWYU pragma: export

#define MADE_UP_MAX 8u

static struct ws_pool_s pool;
static ws_prewake_pool_t prewake;
static ws_worker_t workers[MADE_UP_MAX];
static ws_prewake_worker_t worker_prewake[MADE_UP_MAX];

/// @brief The pool is a new one, all 0 but for what ties its @p count workers to it.
static inline void make_up_pool(uint32_t count)
{
  static ws_worker_t *worker_of[MADE_UP_MAX];
  memset(&pool, 0, sizeof(pool));
  memset(&prewake, 0, sizeof(prewake));
  memset(workers, 0, sizeof(workers));
  memset(worker_prewake, 0, sizeof(worker_prewake));
  for (uint32_t i = 0; i < count; i++) {
    worker_of[i] = &workers[i];
    workers[i].pool = &pool;
    workers[i].prewake = &worker_prewake[i];
    workers[i].index = i;
  }
  pool.worker = worker_of;
  pool.workers = count;
  pool.prewake = &prewake;
}

#endif
