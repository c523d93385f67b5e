// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hint.c
/// Hints: calls that announce a burst. And the settings of pre-wake that can change while the pool runs.
/// Hints are optional: ws_prewake.c learns without them.
#include "../pool/ws_lane.h"
#include "../prewake/ws_prewake.h"
#include "../trace/ws_traced.h"
#include "ws_idle.h"
#include "ws_wake.h"

#define WITHIN_NS_MAX 100000000u
/// A burst whose time is not known or over is expected for so long.
#define AT_ONCE_NS 1000000u
/// A later time is taken for a mistake of the caller: the burst may come at once.
#define AHEAD_NS_MAX UINT64_C(1000000000)

/// Wake workers until @p workers search.
static void call_workers(struct ws_pool_s *pool, uint32_t workers)
{
  if (ws_is_lost(pool)) // the numbers of its threads are those of the parent's
    return;
  const ws_here_t here = ws_here_known(pool);
  ws_note_outside(pool, here); // the thread that announces will push
  ws_moment_t moment = ws_moment(pool, WS_CUE_HINT);
  moment.queued = workers;
  ws_wake(pool, here, &moment, WS_KIND_NORMAL);
}

/// The burst may come at once, and by @p until_ns.
static void announce(struct ws_pool_s *pool, uint32_t workers, uint64_t now_ns, uint64_t until_ns)
{
  if (workers > 0)
    ws_prewake_announced(pool, now_ns, until_ns); // before a worker wakes for it
  call_workers(pool, workers);
}

void ws_pool_prewake(ws_pool_t *pool, uint32_t workers, uint64_t within_ns)
{
  ws_sleep_pool_t *its = ws_sleep_pool(pool);
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t until_ns = now_ns + (within_ns < WITHIN_NS_MAX ? within_ns : WITHIN_NS_MAX);
  ws_traced_hint(pool, workers, 0);
  if (until_ns > ws_hint_load(&its->announced_ns)) // of two hints at once one may get lost
    ws_hint_store(&its->announced_ns, until_ns);
  announce(pool, workers, now_ns, until_ns);
}

void ws_pool_prewake_at(ws_pool_t *pool, uint32_t workers, uint64_t at_ns)
{
  const uint64_t now_ns = ws_os_now_ns();
  ws_traced_hint(pool, workers, at_ns);
  if (at_ns > now_ns && at_ns - now_ns <= AHEAD_NS_MAX) {
    ws_prewake_expect(pool, at_ns);
    call_workers(pool, workers);
  } else {
    announce(pool, workers, now_ns, now_ns + AT_ONCE_NS);
  }
}

void ws_pool_phase_begin(ws_pool_t *pool, uint32_t workers)
{
  ws_traced_hint(pool, workers, 0);
  ws_hint_add(&ws_sleep_pool(pool)->phases, 1);
  const uint64_t now_ns = ws_os_now_ns();
  announce(pool, workers, now_ns, now_ns + WITHIN_NS_MAX);
}

void ws_pool_phase_end(ws_pool_t *pool)
{
  ws_sleep_pool_t *its = ws_sleep_pool(pool);
  if (ws_hint_add(&its->phases, 0u - 1) == 0)
    ws_hint_add(&its->phases, 1); // a surplus end is undone
}

int ws_pool_set_spin(ws_pool_t *pool, ws_spin_t spin, uint64_t lead_ns)
{
  if (!pool || spin > WS_SPIN_HOT || lead_ns > WS_SPIN_LEAD_NS_MAX)
    return -EINVAL;
  ws_sleep_pool_t *its = ws_sleep_pool(pool);
  ws_hint_store(&its->spin_lead_ns, lead_ns);
  const bool was_hot = ws_is_hot(pool);
  ws_hint_store(&its->spin, (uint32_t)spin);
  if (spin == WS_SPIN_HOT && !was_hot && !ws_is_lost(pool)) {
    // [edge PARK_DEKKER fence] The store of the mode before the loads of sleepers. Without the fence a
    // worker that parks can read the old mode, and sets no timer, while its bit is not seen here: it sleeps
    // though the pool is hot.
    ws_fence_seq_cst();
    ws_wake_all(pool); // those that sleep have no timer
  }
  return 0;
}

int ws_pool_set_spin_cpu_max(ws_pool_t *pool, uint32_t percent)
{
  if (!pool || percent > 100)
    return -EINVAL;
  ws_hint_store(&ws_sleep_pool(pool)->spin_percent, percent);
  return 0;
}
