// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_watch.c
/// ws_guard.h.
#include "ws_guard.h"

#include "../prewake/ws_prewake.h"

/// Between two looks. A group that was stopped once is stopped again in its next periods of 0.1 s.
#define EVERY_NS 1000000000

void ws_watch_tick(struct ws_pool_s *pool, uint64_t now_ns)
{
  const uint64_t watched_ns = ws_hint_load(&pool->watched_ns); // two threads at once ask twice
  if (!pool->watched || (int64_t)(now_ns - watched_ns) < EVERY_NS)
    return;
  ws_hint_store(&pool->watched_ns, now_ns);
  ws_hint_store(&pool->watch_due, 1); // a look that is missed comes a second later
  ws_os_futex_wake(&pool->guard, 1);
}

/// The CPUs of this thread, which is not pinned, are those of the process; the pool may have others, to which
/// its workers are pinned. The CPUs that this thread has lost since its start are missing.
static void count_cpus(struct ws_pool_s *pool, const ws_watch_t *watch)
{
  const uint32_t now = ws_os_process_cpu_count(), quota = ws_os_quota_cpus();
  if (now == 0 || watch->cpus == 0)
    return;
  const uint32_t gone = now < watch->cpus ? watch->cpus - now : 0;
  const uint32_t left = gone < pool->cpus ? pool->cpus - gone : 1;
  ws_hint_store(&pool->spin_cpus, left < quota ? left : quota);
}

void ws_watch_begin(ws_watch_t *watch)
{
  *watch = (ws_watch_t){.throttled = UINT64_MAX, .cpus = ws_os_process_cpu_count()};
}

void ws_watch_look(struct ws_pool_s *pool, ws_watch_t *watch)
{
  if (!ws_hint_load(&pool->watch_due))
    return;
  ws_hint_store(&pool->watch_due, 0);
  const uint64_t before = watch->throttled;
  watch->throttled = ws_os_throttled();
  if (watch->throttled > before)
    ws_prewake_throttled(pool, 2 * (uint64_t)EVERY_NS); // longer than until the next look
  count_cpus(pool, watch);
}
