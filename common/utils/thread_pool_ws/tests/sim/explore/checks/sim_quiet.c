// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_quiet.c
/// sim_checks.h.
#include "sim_checks.h"

#include "../../../../pool/ws_process.h"
#include "../../../../prewake/ws_prewake.h"
#include "../../../../sleep/ws_cap.h"
#include "../../../../sleep/ws_wake.h"
#include "../../../../tasks/ws_queue.h"
#include "sim_libc.h"
#include "sim_play.h"
#include "sim_record.h"
#include "sim_seam_points.h"

#define WAIT_PS (3 * SIM_PS_PER_S)
#define STEP_PS SIM_PS_PER_MS

/// Workers whose threads the system has not granted. They count as blocked, and not as parked.
static uint32_t missing(const ws_pool_t *pool)
{
  return pool->workers - ws_load_relaxed(&pool->obtained);
}

static bool any_waits(const ws_pool_t *pool)
{
  return ws_load_relaxed(&ws_sleep_pool(pool)->blocked) != missing(pool)
         || ws_load_relaxed(&ws_sleep_pool(pool)->helpers) || ws_load_relaxed(&pool->idle_waiters);
}

_Noreturn static void complain(const ws_pool_t *pool, uint32_t index, const char *when)
{
  sim_finding("pool %u %s: %u awake, %u searching, %u starved, %u blocked, %u helpers, %u waiting, %u armed",
              index, when, ws_awake(pool), ws_searching(pool), ws_load_relaxed(&ws_sleep_pool(pool)->starved),
              ws_load_relaxed(&ws_sleep_pool(pool)->blocked), ws_load_relaxed(&ws_sleep_pool(pool)->helpers),
              ws_load_relaxed(&pool->idle_waiters), ws_prewake_armed(pool));
}

/// A worker in a mode with timer wakes is armed, but asleep.
static bool is_quiet(const ws_pool_t *pool)
{
  return ws_awake(pool) == missing(pool) && ws_searching(pool) == 0
         && ws_load_relaxed(&ws_sleep_pool(pool)->starved) == 0 && !any_waits(pool)
         && sim_handed_is_none_searched(pool);
}

static uint32_t armed_workers(const ws_pool_t *pool)
{
  uint32_t armed = 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    armed += ws_load_relaxed(&ws_sleep_worker(pool->worker[i])->alarm_ns) != 0;
  return armed;
}

/// A sleeper whose time has come, and that may not wake, is disarmed a moment before it is counted so.
static void check_armed(const ws_pool_t *pool, uint32_t index)
{
  const sim_ps_t until_ps = sim_self->now_ps + WAIT_PS;
  while (is_quiet(pool) && armed_workers(pool) != ws_prewake_armed(pool)) {
    if (sim_self->now_ps > until_ps)
      sim_finding("pool %u: %u workers are armed, and %u are counted", index, armed_workers(pool),
                  ws_prewake_armed(pool));
    sim_sleep_until(sim_self->now_ps + STEP_PS);
  }
}

/// Lanes of threads that have ended are free for others.
static void check_lanes(const ws_pool_t *pool, uint32_t index)
{
  for (uint32_t i = pool->workers; i < ws_load_relaxed(&pool->tasks.queues); i++) {
    const uint64_t owner = ws_load_relaxed(&pool->tasks.queue[i]->owner);
    const int32_t tid = ws_tid_of(owner);
    if (owner != 0 && sim_thread[tid - 1]->state == SIM_ENDED)
      sim_finding("pool %u: the lane of thread %d, which has ended, is not free", index, tid);
    if (owner == 0 && pool->tasks.queue[i]->outbox.reserved.bits != 0)
      sim_finding("pool %u: a lane that is free has reserved workers", index);
  }
}

void sim_quiet_check(ws_pool_t *pool, uint32_t index)
{
  const sim_ps_t until_ps = sim_self->now_ps + WAIT_PS;
  sim_ps_t step_ps = STEP_PS;
  while (!is_quiet(pool)) {
    if (sim_self->now_ps > until_ps)
      complain(pool, index, "does not become quiet");
    sim_sleep_until(sim_self->now_ps + step_ps);
    step_ps += step_ps / 2;
  }
  check_armed(pool, index);
  if (!is_quiet(pool)) { // a timer has woken a worker meanwhile
    sim_quiet_check(pool, index);
    return;
  }
  check_lanes(pool, index);
  sim_handed_check(pool, index);
}

void sim_quiet_check_stopped(ws_pool_t *pool, uint32_t index)
{
  ws_stats_t stats;
  ws_worker_stats_t worker[SIM_WORKERS_MAX];
  const uint32_t filled = ws_pool_stats(pool, &stats, worker, SIM_WORKERS_MAX);
  uint64_t run = stats.outside.run_tasks + stats.outside.inline_tasks;
  for (uint32_t i = 0; i < filled; i++)
    run += worker[i].run_tasks + worker[i].inline_tasks;
  if (stats.queued_tasks > 0)
    sim_finding("pool %u: %llu tasks are left in its queues", index, (unsigned long long)stats.queued_tasks);
  sim_record_check_pool(index, run - sim_record_yields[index], stats.skipped_tasks);
  sim_handed_check(pool, index);
  // searching may stay: a worker ends while it searches
  if (any_waits(pool) || ws_prewake_armed(pool))
    complain(pool, index, "has stopped");
}

void sim_quiet_check_spared(ws_pool_t *pool, uint32_t index)
{
  const sim_ps_t until_ps = sim_self->now_ps + WAIT_PS;
  for (; ws_sleep_pool(pool)->spares && ws_queued(&pool->tasks) > 0;
       sim_sleep_until(sim_self->now_ps + STEP_PS))
    if (sim_self->now_ps > until_ps)
      sim_finding("spared: pool %u has tasks queued, and runs none while no thread waits", index);
}

static uint32_t threads_left(void)
{
  uint32_t left = 0;
  for (uint32_t i = 0; i < sim_threads; i++)
    left += sim_thread[i] != sim_self && sim_thread[i]->state != SIM_ENDED && !sim_is_hog(sim_thread[i]);
  return left;
}

static uint32_t load(const ws_au32_t *word)
{
  sim_load(word);
  return ws_hint_load(word);
}

void sim_quiet_check_end(void)
{
  const sim_ps_t until_ps = sim_self->now_ps + WAIT_PS;
  while (threads_left() > 0 && sim_self->now_ps < until_ps)
    sim_sleep_until(sim_self->now_ps + STEP_PS);
  if (threads_left() > 0)
    sim_finding("%u threads are left", threads_left());
  if (sim_mapped_bytes > 0)
    sim_finding("%zu bytes of memory are left", sim_mapped_bytes);
  if (load(&ws_process.awake) > 0 || load(&ws_process.helpers) > 0)
    sim_finding("the process counts %u awake workers and %u helpers after the end of its pools",
                load(&ws_process.awake), load(&ws_process.helpers));
}
