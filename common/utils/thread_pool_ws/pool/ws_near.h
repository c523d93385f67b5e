// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_near.h
/// Which workers are near the thread that pushes. Two CPUs are near each other where they share a last-level
/// cache: a cache line travels between them in a third of the time, or less. All of this is a preference.
/// A worker counts as being where it was last seen: the kernel usually wakes a thread there.
#ifndef WS_NEAR_H
#define WS_NEAR_H

#include "ws_types.h"

/// @brief Read from the system which CPUs of the pool are near each other. If unknown, all of them are.
/// @threads  the creator, before there are workers
void ws_near_plan(struct ws_pool_s *pool);

/// @return 1 + the last-level cache of @p cpu; 0 = not known
uint32_t ws_near_cache_of(const struct ws_pool_s *pool, int32_t cpu);

/// @return whether the worker is near the thread outside that pushed last; true if unknown
static inline bool ws_near_is(const struct ws_pool_s *pool, const ws_worker_t *worker)
{
  if (WS_LIKELY(pool->near.caches < 2))
    return true;
  const uint32_t producer = ws_hint_load(&pool->near.producer) & WS_PRODUCER_CPU;
  const uint32_t cpu = ws_hint_load(&worker->seen_cpu);
  if (producer == 0 || cpu == 0 || producer > WS_CPUS_MAX || cpu > WS_CPUS_MAX)
    return true;
  return pool->near.cache_of_cpu[producer - 1] == pool->near.cache_of_cpu[cpu - 1];
}

/// @return whether the thread that pushed or joined last was on @p cpu, and would wait for a worker there
bool ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu);

/// @return whether a wake of the worker would stop the thread that pushed or joined last: the worker is
///         pinned to its CPU. It sets no timer, and no push wakes it while that thread runs (ws_wake.c)
static inline bool ws_near_stops_producer(const ws_worker_t *worker)
{
  return worker->cpu >= 0 && ws_producer_on_cpu(worker->pool, worker->cpu);
}

#endif
