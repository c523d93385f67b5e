// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hint.c
/// Hints: calls that announce a burst. They are optional: ws_prewake.c learns without them.
#include "../pool/ws_lane.h"
#include "../prewake/ws_prewake.h"
#include "../trace/ws_traced.h"
#include "ws_wake.h"

#define WITHIN_NS_MAX 100000000u
/// A burst whose time is over, or a mistake, is expected for so long.
#define AT_ONCE_NS 1000000u
/// A later time is taken for a mistake of the caller: the burst may come at once.
#define AHEAD_NS_MAX UINT64_C(1000000000)

/// Record a hint of a burst at @p at_ns (0 = now). @return false = no pool, or a lost one: it has no effect
static bool begin(const struct ws_pool_s *pool, uint32_t workers, uint64_t at_ns)
{
  if (!pool || ws_is_lost(pool)) // lost: the numbers of its threads are those of the parent's
    return false;
  ws_traced_hint(pool, workers, at_ns);
  return true;
}

/// Wake workers until @p workers (or WS_AS_MANY_AS_PAY) search, or as many are awake as may be.
/// @param until_ns  the burst may come at once, and by then; 0 = it will not. With 0 workers pre-wake learns
/// nothing of it, and none is woken
static void call_workers(struct ws_pool_s *pool, uint32_t workers, uint64_t now_ns, uint64_t until_ns)
{
  if (workers > 0 && until_ns > 0)
    ws_prewake_announced(pool, now_ns, until_ns); // before a worker wakes for it
  const ws_here_t here = ws_here_known(pool);
  ws_note_outside(pool, here); // the thread that announces will push
  ws_snapshot_t snapshot = ws_snapshot(pool, WS_TRIGGER_HINT);
  snapshot.queued = workers;
  ws_wake(pool, here, &snapshot, WS_KIND_NORMAL);
}

void ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns)
{
  if (!begin(pool, workers, 0))
    return;
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t until_ns = now_ns + (within_ns < WITHIN_NS_MAX ? within_ns : WITHIN_NS_MAX);
  if (until_ns > ws_hint_load(&shared->announced_ns)) // of two hints at once one may get lost
    ws_hint_store(&shared->announced_ns, until_ns);
  call_workers(pool, workers, now_ns, until_ns);
}

void ws_pool_prewake_at(ws_pool_t *pool, uint32_t workers, uint64_t at_ns)
{
  const uint64_t now_ns = ws_os_now_ns();
  if (at_ns <= now_ns || at_ns - now_ns > AHEAD_NS_MAX) {
    ws_pool_prewake(pool, workers, AT_ONCE_NS);
  } else if (begin(pool, workers, at_ns)) {
    ws_prewake_expect(pool, at_ns);
    call_workers(pool, workers, now_ns, 0);
  }
}

void ws_pool_phase_begin(ws_pool_t *pool, uint32_t workers)
{
  if (!begin(pool, workers, 0))
    return;
  ws_hint_add(&ws_sleep_pool(pool)->phases, 1);
  const uint64_t now_ns = ws_os_now_ns();
  call_workers(pool, workers, now_ns, now_ns + WITHIN_NS_MAX);
}

void ws_pool_phase_end(ws_pool_t *pool)
{
  if (pool && ws_hint_add(&ws_sleep_pool(pool)->phases, 0u - 1) == 0)
    ws_hint_add(&ws_sleep_pool(pool)->phases, 1); // a surplus end is undone
}
