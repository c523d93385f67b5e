// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hot.c
/// ws_idle.h.
#include "ws_idle.h"

#include "../pool/ws_near.h"
#include "ws_budget.h"
#include "ws_wake.h"

/// A real-time worker is awake for at most so long, unless tasks keep it so; then it sleeps for so long.
#define AWAKE_NS_MAX UINT64_C(900000)
#define REST_NS UINT64_C(100000)
/// Between two tries of a pool's sleeping workers.
#define RETRY_NS UINT64_C(4000000)

static bool needs_rest(const ws_worker_t *worker, uint64_t now_ns)
{
  return worker->realtime && now_ns - worker->rose_ns >= AWAKE_NS_MAX;
}

bool ws_hot_must_stop(const ws_worker_t *worker, uint64_t now_ns)
{
  return ws_is_hot(worker->pool)
         && (needs_rest(worker, now_ns) || ws_producer_on_cpu(worker->pool, ws_os_cpu()));
}

uint64_t ws_hot_later_ns(const struct ws_pool_s *pool)
{
  if (!ws_is_hot(pool) || ws_hint_load(&pool->state) != WS_RUNNING) // a stop wakes all
    return 0;
  const uint32_t asleep = pool->workers - ws_awake(pool);
  return ws_os_now_ns() + RETRY_NS * (asleep > 0 ? asleep : 1);
}

uint64_t ws_hot_retry_ns(const ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  const uint64_t later_ns = ws_hot_later_ns(pool);
  if (later_ns == 0)
    return 0;
  const uint64_t now_ns = ws_os_now_ns();
  if (needs_rest(worker, now_ns))
    return now_ns + REST_NS;
  return ws_may_spin_beside(pool, 1) && !ws_producer_on_cpu(pool, ws_os_cpu()) ? now_ns : later_ns;
}

void ws_hot_begin(struct ws_pool_s *pool)
{
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the mode before the sleepers: a worker that parks sees one
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_claim(pool, i))
      ws_token(pool->worker[i]);
}
