// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake_null.c
/// ws_prewake.h without pre-wake: links in place of the other sources of this room. A worker that runs out of
/// work spins for spin_ns_max, and sleeps until a push wakes it.
#include "../../include/ws_stats.h"
#include "../../pool/ws_types.h"

#include <string.h>

#include "../../prewake/ws_prewake.h"

// Not 0: the memory of a pool without workers and lanes would be empty, and no mapping.
const size_t ws_prewake_pool_bytes = 1, ws_prewake_worker_bytes = 0;

void ws_prewake_arrived(struct ws_pool_s *pool, uint64_t now_ns) {}

void ws_prewake_announced(struct ws_pool_s *pool, uint64_t now_ns, uint64_t until_ns) {}

uint64_t ws_prewake_idle(struct ws_pool_s *pool, uint64_t now_ns)
{
  return UINT64_MAX;
}

void ws_prewake_found(ws_worker_t *worker, uint64_t now_ns, uint64_t called_ns) {}

void ws_prewake_took_more(ws_worker_t *worker) {}

uint64_t ws_prewake_out_of_work(ws_worker_t *worker, uint64_t now_ns)
{
  return now_ns + worker->pool->settings.spin_ns_max;
}

uint64_t ws_prewake_plan(ws_worker_t *worker, uint64_t slept_ns)
{
  return 0;
}

void ws_prewake_disarm(ws_worker_t *worker) {}

uint64_t ws_prewake_woken(ws_worker_t *worker, ws_wake_by_t by, uint64_t rose_ns, uint64_t called_ns)
{
  return rose_ns;
}

void ws_prewake_expect(struct ws_pool_s *pool, uint64_t at_ns) {}

uint32_t ws_prewake_armed(const struct ws_pool_s *pool)
{
  return 0;
}

uint64_t ws_prewake_waking_ns(const struct ws_pool_s *pool)
{
  return 0;
}

void ws_prewake_throttled(struct ws_pool_s *pool, uint64_t span_ns) {}

void ws_pool_prewake_stats_sized(const struct ws_pool_s *pool, ws_prewake_stats_t *stats, size_t bytes)
{
  if (pool && stats)
    memset(stats, 0, bytes);
}
