// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_near.h
/// Which workers are near the producer: the thread outside that was last about to wake a worker, or began to
/// help (ws_near_pool_t). Two CPUs are near each other where they share a last-level cache: a cache line
/// travels between them in a third of the time, or less. All of this is a preference.
/// A worker counts as being where it was last seen: the kernel usually wakes a thread there.
#ifndef WS_NEAR_H
#define WS_NEAR_H

#include "ws_types.h"

/// @brief Read from the system which CPUs of the pool are near each other. If unknown, all of them are.
/// @threads  the creator, before there are workers
void ws_near_plan(struct ws_pool_s *pool);

/// @return 1 + the last-level cache of @p cpu; 0 = not known, as of -1 and of CPUs outside the pool's mask
uint32_t ws_near_cache_of(const struct ws_pool_s *pool, int32_t cpu);

/// @return whether the worker is near the producer; true if unknown. A CPU outside the pool's mask counts as
///         one of the first cache
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

/// @return whether the producer was on @p cpu, and a worker could stop it there
/// @param cpu  -1 = not known: it was not
bool ws_producer_on_cpu(const struct ws_pool_s *pool, int32_t cpu);

/// @return whether a wake of the worker would stop the producer: the worker is pinned to its CPU. It
///         sets no timer then, and no push wakes it while the producer runs (ws_wake.c)
static inline bool ws_near_stops_producer(const ws_worker_t *worker)
{
  return worker->cpu >= 0 && ws_producer_on_cpu(worker->pool, worker->cpu);
}

#endif
