// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_guard.c
/// The guard: tasks may block, so the cap on awake workers is a preference. While tasks may wait behind a
/// full set of awake workers one parked worker looks from time to time, and gets up when those are blocked.
/// DESIGN: docs/architecture.md.
///
///   none --a worker parks, or tasks queue behind a full set--> standing --claimed--> none
///                                                              standing --nothing to see for 10 ms--> none
/// [edge GUARD_DEKKER] Whoever leaves a task behind a full set of awake workers sees a guard, or appoints
/// one; a guard that stands down looks again after it has said so.
#include <errno.h>

#include "ws_park.h"
#include "ws_process.h"

/// Try to be, or make @p index, the guard. @return whether it worked
static bool install(struct ws_pool_s *pool, uint32_t index)
{
  uint32_t nobody = 0;
  return ws_cas_acq_rel(&pool->guard, &nobody, index + 1); // [edge GUARD_DEKKER acq_rel]
}

static void dismiss(struct ws_pool_s *pool, uint32_t index)
{
  uint32_t guard = index + 1;
  ws_cas_acq_rel(&pool->guard, &guard, 0); // [edge GUARD_DEKKER acq_rel]
}

static bool is_parked(const struct ws_pool_s *pool, uint32_t index)
{
  // relaxed: after a fence, or ws_claim decides
  return (ws_load_relaxed(&pool->sleepers[index / 64]) >> (index % 64)) & 1;
}

void ws_guard_appoint(struct ws_pool_s *pool)
{
  for (uint32_t index = pool->workers; index-- > 0;) { // from the end: the first ones are woken for work
    if (!is_parked(pool, index))
      continue;
    if (!install(pool, index))
      return; // somebody else has seen to it
    ws_fence_seq_cst(); // [edge GUARD_DEKKER fence] guard before sleepers: it may have been claimed meanwhile
    if (is_parked(pool, index)) {
      ws_token(&pool->worker[index], WS_TOKEN_GUARD);
      return;
    }
    dismiss(pool, index);
  }
}

void ws_guard_volunteer(ws_worker_t *worker)
{
  if (ws_load_relaxed(&worker->pool->guard) == 0) // relaxed: the CAS decides
    install(worker->pool, worker->index);
}

void ws_guard_resign(ws_worker_t *worker)
{
  ws_fence_seq_cst(); // [edge GUARD_DEKKER fence] the claim before guard: see ws_guard_appoint
  if (ws_is_guard(worker))
    dismiss(worker->pool, worker->index);
}

/// Looks in a row at which tasks waited and none was finished, though the workers use their CPUs: they may be
/// waiting for one of the queued tasks in a loop. About 10 ms.
#define STALLED_POLLS 15u

/// @return whether some task was finished since the last look
static bool has_moved(struct ws_pool_s *pool)
{
  uint64_t run = 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    run += ws_load_relaxed(&pool->worker[i].queue.count.run); // relaxed: compared with itself
  const bool moved = run != pool->guard_run;
  pool->guard_run = run;
  return moved;
}

/// @return awake workers that the kernel has put to sleep: they wait for something that the pool does not
/// know of, or in a join
static uint32_t sleeping_workers(struct ws_pool_s *pool)
{
  uint32_t sleeping = 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    sleeping += !is_parked(pool, i) && ws_os_thread_sleeps(pool->worker[i].tid);
  return sleeping;
}

/// @return whether the threads outside that are thought to need a CPU all sleep
static bool outside_sleeps(struct ws_pool_s *pool)
{
  if (ws_load_relaxed(&pool->helpers) > 0 || ws_load_relaxed(&pool->outside) == 0) // relaxed: a preference
    return false;
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = pool->workers; i < queues; i++) {
    const uint32_t tid = ws_load_relaxed(&pool->queue[i]->owner_tid); // relaxed: a preference
    if (ws_load_relaxed(&pool->queue[i]->owner) != 0 && !ws_os_thread_sleeps((int32_t)tid)) // relaxed: as tid
      return false;
  }
  return true;
}

/// Tasks wait and nobody searches: is there room for one more worker?
static bool should_rise(struct ws_pool_s *pool)
{
  const uint32_t working = ws_working(pool);
  const uint32_t blocked = ws_load_relaxed(&pool->blocked); // relaxed: a preference
  const uint32_t sleeping = sleeping_workers(pool);
  const uint32_t hidden = sleeping > blocked ? sleeping - blocked : 0; // those in a join sleep too
  if ((hidden > 0 && hidden >= working) || pool->guard_stalled >= STALLED_POLLS)
    ws_store_relaxed(&pool->lifted, 1); // relaxed: a preference
  if (outside_sleeps(pool))
    ws_store_relaxed(&pool->outside, 0); // relaxed: a preference
  return working - (hidden < working ? hidden : working) < ws_awake_limit(pool);
}

bool ws_guard_poll(ws_worker_t *worker, uint32_t *quiet)
{
  struct ws_pool_s *pool = worker->pool;
  ws_count(&worker->queue.count.guard_polls, 1);
  const bool moved = has_moved(pool);
  const bool waiting = ws_work_visible(pool);
  pool->guard_stalled = waiting && !moved ? pool->guard_stalled + 1 : 0;
  if (waiting && ws_load_relaxed(&pool->searching) == 0 // relaxed: a preference
      && should_rise(pool) && ws_claim(pool, worker->index))
    return true;
  if (!waiting && moved && ws_load_relaxed(&pool->lifted)) // relaxed: a preference
    ws_store_relaxed(&pool->lifted, 0); // relaxed: a preference
  *quiet = waiting || moved || ws_working(pool) > 0 ? 0 : *quiet + 1;
  if (*quiet < WS_GUARD_QUIET_POLLS)
    return false;
  dismiss(pool, worker->index);
  ws_fence_seq_cst(); // [edge GUARD_DEKKER fence] no guard any more, before the last look
  if (ws_work_visible(pool))
    ws_guard_volunteer(worker);
  return false;
}
