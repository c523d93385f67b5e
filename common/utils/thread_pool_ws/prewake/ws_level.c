// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_level.c
/// ws_prewake_state.h.
#include "ws_prewake_state.h"

/// Spins of which so many lately were interrupted: the machine has no time to spare.
#define STALL_MAX 0.25
/// First time without trouble after which the level rises again; how many such times make the next fall count
/// as the first one; and how many times as long it may become. A bad minute must not affect the next one.
#define CLEAN_NS UINT64_C(20000000)
#define FORGET_SPANS 8u
#define LONGER_MAX 16u
/// Pauses that a fall waits for another thread that changes the level.
#define TRIES 256u

static bool try_lock(ws_prewake_pool_t *its)
{
  uint32_t unlocked = 0;
  return ws_expected_load(&its->level_lock) == 0
         && ws_cas_acq_rel(&its->level_lock, &unlocked, 1); // [edge LEVEL acquire] what the last holder set
}

static void unlock(ws_prewake_pool_t *its)
{
  ws_store_release(&its->level_lock, 0); // [edge LEVEL release] the times
}

static void set_level(ws_prewake_pool_t *its, uint32_t level)
{
  ws_hint_store(&its->level, level);
  ws_count(&its->level_changes, 1);
}

void ws_level_fall(ws_prewake_pool_t *its, uint64_t now_ns, uint64_t span_ns)
{
  for (uint32_t tries = 0; !try_lock(its); tries++) {
    if (tries == TRIES)
      return; // the next interruption lowers the level
    ws_pause();
  }
  const uint32_t level = ws_hint_load(&its->level);
  if (level > 0)
    set_level(its, level - 1);
  const uint64_t longer_ns = 2 * its->span_ns, most_ns = LONGER_MAX * span_ns;
  if (its->span_ns < most_ns)
    its->span_ns = longer_ns < span_ns ? span_ns : longer_ns < most_ns ? longer_ns : most_ns;
  ws_hint_store(&its->clean_ns, now_ns + its->span_ns);
  unlock(its);
}

void ws_level_rise(ws_prewake_pool_t *its, uint64_t now_ns)
{
  if (now_ns < ws_hint_load(&its->clean_ns) || !try_lock(its))
    return;
  const uint32_t level = ws_hint_load(&its->level);
  if (level < WS_LEVEL_TOP) {
    const uint32_t spans = level + 1 == WS_LEVEL_TOP ? FORGET_SPANS : 1;
    set_level(its, level + 1);
    ws_hint_store(&its->clean_ns, now_ns + spans * its->span_ns);
  } else {
    its->span_ns = 0;
  }
  unlock(its);
}

void ws_level_spun(ws_worker_t *worker, bool preempted)
{
  ws_prewake_worker_t *its = worker->prewake;
  ws_mean_follow(&its->stall, preempted);
  if (!preempted || its->stall < STALL_MAX)
    return;
  its->stall = 0;
  ws_level_fall(worker->pool->prewake, ws_os_now_ns(), CLEAN_NS);
}
