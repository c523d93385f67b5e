// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_level.c
/// ws_level.h.
#include "ws_level.h"

#include "ws_rhythm.h"

/// Spins of which so many lately were interrupted: the machine has no time to spare.
#define STALL_MAX 0.25
/// Time without trouble until the level rises again, at first; how many such times until the next fall counts
/// as the first again; and how much longer it becomes. A bad minute must not cost the next one.
#define CLEAN_NS UINT64_C(20000000)
#define FORGET_SPANS 8u
#define LONGER_MAX 16u
/// Pauses that a fall waits for who learns.
#define TRIES 256u
/// The cap holds over any few times this.
#define ALLOWANCE_NS 10000000

static void set_level(struct ws_pool_s *pool, uint32_t level)
{
  ws_store_relaxed(&pool->level, level); // relaxed: a preference
  ws_add_relaxed(&pool->level_changes, 1); // relaxed: a statistic
}

void ws_level_fall(struct ws_pool_s *pool, uint64_t now_ns, uint64_t span_ns)
{
  for (uint32_t tries = 0; !ws_rhythm_enter(pool); tries++) {
    if (tries == TRIES)
      return; // the next interruption will do
    ws_pause();
  }
  ws_rhythm_t *rhythm = &pool->rhythm;
  const uint32_t level = ws_load_relaxed(&pool->level); // relaxed: a preference
  if (level > 0)
    set_level(pool, level - 1);
  const uint64_t longer_ns = 2 * rhythm->span_ns, most_ns = LONGER_MAX * span_ns;
  if (rhythm->span_ns < most_ns)
    rhythm->span_ns = longer_ns < span_ns ? span_ns : longer_ns < most_ns ? longer_ns : most_ns;
  rhythm->clean_ns = now_ns + rhythm->span_ns;
  ws_rhythm_leave(pool);
}

void ws_level_rise(struct ws_pool_s *pool, uint64_t now_ns)
{
  ws_rhythm_t *rhythm = &pool->rhythm;
  if (now_ns < rhythm->clean_ns)
    return;
  const uint32_t level = ws_load_relaxed(&pool->level); // relaxed: a preference
  if (level < WS_LEVEL_TOP) {
    set_level(pool, level + 1);
    rhythm->clean_ns = now_ns + (level + 1 == WS_LEVEL_TOP ? FORGET_SPANS : 1) * rhythm->span_ns;
  } else {
    rhythm->span_ns = 0;
  }
}

void ws_level_spun(ws_worker_t *worker, bool preempted)
{
  ws_rise_t *rise = &worker->rise;
  ws_mean_follow(&rise->stall, preempted);
  if (!preempted || rise->stall < STALL_MAX)
    return;
  rise->stall = 0;
  ws_level_fall(worker->pool, ws_os_now_ns(), CLEAN_NS);
}

static int64_t percent(const struct ws_pool_s *pool)
{
  return ws_load_relaxed(&pool->spin_cpu_max_percent); // relaxed: a setting
}

int64_t ws_level_forecast(const ws_worker_t *worker, uint64_t later_ns)
{
  const ws_rise_t *rise = &worker->rise;
  const int64_t most_ns = ALLOWANCE_NS / 100 * percent(worker->pool);
  const uint64_t passed_ns = later_ns - rise->allowed_ns;
  const bool long_ago = passed_ns >= ALLOWANCE_NS;
  const int64_t granted_ns = long_ago ? 2 * most_ns : (int64_t)passed_ns * percent(worker->pool) / 100;
  return rise->allowance_ns + granted_ns < most_ns ? rise->allowance_ns + granted_ns : most_ns;
}

int64_t ws_level_allow(ws_worker_t *worker, uint64_t now_ns)
{
  worker->rise.allowance_ns = ws_level_forecast(worker, now_ns);
  worker->rise.allowed_ns = now_ns;
  return worker->rise.allowance_ns;
}

void ws_level_pay(ws_worker_t *worker, uint64_t spun_ns)
{
  const int64_t least_ns = -ALLOWANCE_NS / 100 * percent(worker->pool);
  const int64_t left_ns = worker->rise.allowance_ns - (int64_t)spun_ns;
  worker->rise.allowance_ns = left_ns > least_ns ? left_ns : least_ns;
}
