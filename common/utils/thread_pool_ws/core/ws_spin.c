// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_spin.c
/// ws_spin.h. A worker always spins for settings.spin_ns_max: the next phase of a slot follows soon. It spins
/// on, as far as the next slot, when that is expected and paid for:
///
/// Expected   The gaps longer than spin_ns_max are learnt (their slowly sinking maximum), and the last ones
///            kept to it.
/// Paid for   The work since the last such gap, by workers and by threads outside that helped, earns
///            EARN_PERCENT of its time; all workers that would spin must be able to do so for that. Nothing
///            is saved up. So a pool's CPU time stays within a fixed multiple of its work's in every period.
/// Bounded    By ws_may_spin at every turn: the awake workers of the process leave CPUs to the threads
///            outside.
#include "ws_spin.h"

#include "ws_park.h"

/// Work plus this much of it, plus wakes and timers, stays within 2.5 times the work.
#define EARN_PERCENT 130u
/// A longer gap is neither learnt nor spun through.
#define GAP_NS_MAX 20000000u
/// A gap is as expected if it is at most a sixteenth longer.
#define EXPECTED_NS(gap_ns) ((gap_ns) + (gap_ns) / 16)
/// Gaps in a row that must have been as expected.
#define CONFIDENCE_MIN 3u

/// A gap between two turns of a spin that is longer than this means that somebody else had the CPU.
#define PREEMPTED_NS 20000u
/// Pauses between two looks. Looking without a rest takes the queue's lines from the thread that is filling
/// it: with tiny tasks a push then costs six times as much. This rest is the price, about 0.1 us of a start.
#define REST_TURNS 4u

void ws_spin_earn(struct ws_pool_s *pool, uint64_t busy_ns)
{
  ws_add_relaxed(&pool->spin_credit_ns, busy_ns * EARN_PERCENT / 100); // relaxed: a budget
}

void ws_spin_found(ws_worker_t *worker)
{
  worker->found_ns = ws_os_now_ns();
  const uint64_t gap_ns = worker->found_ns - worker->dry_ns;
  if (gap_ns <= worker->pool->settings.spin_ns_max)
    return; // the next phase of the same slot
  ws_store_relaxed(&worker->pool->spin_credit_ns, 0); // relaxed: a budget
  if (gap_ns > GAP_NS_MAX) { // a pause, which says nothing about the gaps between slots
    worker->gap_kept = 0;
    return;
  }
  worker->gap_kept = gap_ns <= EXPECTED_NS(worker->gap_ns) ? worker->gap_kept + 1 : 0;
  if (gap_ns > worker->gap_ns)
    worker->gap_ns = gap_ns;
  else
    worker->gap_ns -= (worker->gap_ns - gap_ns) / 8;
}

/// Somebody has said that tasks come (ws_prewake.c), and they may still.
static bool is_announced(const struct ws_pool_s *pool, uint64_t now_ns)
{
  return now_ns < ws_load_relaxed(&pool->announced_ns); // relaxed: a budget
}

/// @return how long after the worker ran dry it may spin
static uint64_t window_ns(const ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  const uint64_t expected_ns = EXPECTED_NS(worker->gap_ns);
  if (pool->settings.spin == WS_SPIN_HOT)
    return UINT64_MAX;
  const uint64_t credit_ns = ws_load_relaxed(&pool->spin_credit_ns); // relaxed: a budget
  const bool expected = worker->gap_kept >= CONFIDENCE_MIN && expected_ns > pool->settings.spin_ns_max;
  if (expected && expected_ns * ws_working(pool) <= credit_ns)
    return expected_ns;
  return pool->settings.spin_ns_max;
}

bool ws_spin(ws_worker_t *worker, bool ran)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t start_ns = ws_os_now_ns();
  if (ran) {
    worker->dry_ns = start_ns;
    ws_spin_earn(pool, start_ns - worker->found_ns);
  }
  if (pool->settings.spin_ns_max == 0 || !ws_may_spin(pool))
    return false;
  if (ws_producer_on_cpu(pool, ws_os_cpu())) // a spin here would keep it off
    return false;
  ws_search_begin(worker);
  ws_count(&worker->queue.count.spins, 1);
  uint64_t now_ns = start_ns;
  bool found = false;
  while (!found && ws_may_spin(pool)) {
    const uint64_t before_ns = now_ns;
    for (uint32_t turn = 0; turn < REST_TURNS; turn++)
      ws_pause();
    found = ws_work_visible(pool);
    now_ns = ws_os_now_ns();
    const bool preempted = now_ns - before_ns > PREEMPTED_NS && pool->settings.spin != WS_SPIN_HOT;
    // The window is asked for when the sure part is over: by then the threads outside have earned theirs,
    // too.
    const uint64_t dry_ns = now_ns - worker->dry_ns;
    const bool over = dry_ns > pool->settings.spin_ns_max && dry_ns > window_ns(worker);
    if (preempted || (over && !is_announced(pool, now_ns)))
      break;
  }
  ws_count(&worker->queue.count.spin_ns, now_ns - start_ns);
  return found;
}
