// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_search.c
/// ws_wake.h. A searcher is a worker that searches, or was woken to: it is counted in pool->searching, in its
/// circle's count. A worker's trust word holds in which of the pool's counts the worker is. The thread that
/// changes the word changes the count, so a worker is taken off once: by itself or by the guard.
#include "ws_wake.h"

#include "../pool/ws_near.h"

/// A worker that had no CPU for a time is avoided for this multiple of that time.
#define SHUN_TIMES 8u

void ws_search_claimed(ws_worker_t *worker)
{
  const uint32_t circle = ws_near_circle(worker);
  ws_add_acq_rel(&worker->pool->searching[circle].workers, 1); // [edge SEARCHING acq_rel]
  // [edge SEARCHING release] counted before it can be taken off
  ws_store_release(&worker->trust, WS_TRUST_COUNTED + WS_TRUST_STATES * circle);
}

void ws_search_begin(ws_worker_t *worker)
{
  if (WS_LIKELY(worker->searching)) {
    // Otherwise the guard has taken this worker off the searchers, and the worker has a CPU again.
    if (WS_LIKELY(ws_hint_load(&worker->trust) != WS_TRUST_STARVED))
      return;
    ws_search_leave(worker);
  }
  ws_search_claimed(worker);
  worker->searching = true;
}

/// A worker that searched is taken off. @return the workers of its circle counted before
static uint32_t subtract(struct ws_pool_s *pool, uint32_t trust)
{
  return ws_sub_acq_rel(&pool->searching[trust / WS_TRUST_STATES].workers, 1); // [edge SEARCHING acq_rel]
}

/// The worker had no CPU from starved_ns on until now.
static void shun(ws_worker_t *worker)
{
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t since_ns = ws_load_relaxed(&worker->starved_ns); // relaxed: after the exchange of trust
  if (now_ns > since_ns)
    ws_hint_store(&worker->shun_until_ns, now_ns + (now_ns - since_ns) * SHUN_TIMES);
}

uint32_t ws_search_leave(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  worker->searching = false;
  const uint32_t trust = ws_xchg_acq_rel(&worker->trust, WS_TRUST_NOT); // [edge SEARCHING acq_rel]
  if (WS_LIKELY(trust % WS_TRUST_STATES == WS_TRUST_COUNTED))
    return subtract(pool, trust);
  if (trust == WS_TRUST_STARVED) {
    ws_sub_acq_rel(&pool->tasks.starved, 1); // [edge SEARCHING acq_rel]
    shun(worker);
  }
  return 0;
}

bool ws_search_starved(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  uint32_t trust = ws_expected_load(&worker->trust);
  if (trust % WS_TRUST_STATES != WS_TRUST_COUNTED)
    return false;
  ws_store_relaxed(&worker->starved_ns, ws_os_now_ns()); // relaxed: published by the CAS
  ws_add_acq_rel(&pool->tasks.starved, 1); // [edge SEARCHING acq_rel] first, so that it is never below zero
  const uint32_t counted = trust;
  if (!ws_cas_acq_rel(&worker->trust, &trust, WS_TRUST_STARVED)) { // [edge SEARCHING acq_rel]
    ws_sub_acq_rel(&pool->tasks.starved, 1); // [edge SEARCHING acq_rel]
    return false;
  }
  subtract(pool, counted);
  ws_hint_store(&pool->shunned, 1);
  ws_count(&pool->starved_searches, 1);
  return true;
}

bool ws_search_is_shunned(const ws_worker_t *worker, uint64_t now_ns)
{
  return now_ns < ws_hint_load(&worker->shun_until_ns);
}
