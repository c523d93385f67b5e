// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_watch.c
/// ws_watch.h.
#include "ws_watch.h"

#include "../prewake/ws_prewake.h"

/// Between two looks. A group that was stopped once is stopped again in its next periods of 0.1 s.
#define WATCH_NS 1000000000

void ws_watch_tick(struct ws_pool_s *pool, uint64_t now_ns)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint64_t watched_ns = ws_hint_load(&shared->watch.asked_ns); // two threads at once ask twice
  if ((int64_t)(now_ns - watched_ns) < WATCH_NS)
    return;
  ws_hint_store(&shared->watch.asked_ns, now_ns);
  ws_hint_store(&shared->watch.due, 1); // a look that is missed comes a second later
  ws_os_futex_wake(&shared->guard, 1);
}

/// Set spin_cpus: the pool's CPUs less those that this thread has lost since its start (watch->cpus), at most
/// the quota (UINT32_MAX = none). Unchanged if this thread's are not known. The pool may have CPUs that this
/// thread has not, as its workers are pinned there.
static void update_spin_cpus(struct ws_pool_s *pool, const ws_watch_t *watch, uint32_t quota)
{
  const uint32_t now = ws_os_process_cpu_count();
  if (now == 0 || watch->cpus == 0)
    return;
  const uint32_t gone = now < watch->cpus ? watch->cpus - now : 0;
  const uint32_t left = gone < pool->cpus ? pool->cpus - gone : 1;
  ws_hint_store(&ws_sleep_pool(pool)->spin_cpus, left < quota ? left : quota);
}

void ws_watch_look(struct ws_pool_s *pool, ws_watch_t *watch)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  if (!ws_hint_load(&shared->watch.due))
    return;
  ws_hint_store(&shared->watch.due, 0);
  const uint64_t before = watch->throttled;
  const ws_grants_t grants = ws_os_grants();
  watch->throttled = grants.throttled;
  if (watch->throttled > before)
    ws_prewake_throttled(pool, 2 * (uint64_t)WATCH_NS); // longer than until the next look
  update_spin_cpus(pool, watch, grants.cpus);
}
