// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_core.c
/// The host program where it uses the core as a library: sim_front_t (sim_play.h).
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "../../../sleep/ws_sleep_state.h"
#include "sim_checks.h"
#include "sim_libc.h"
#include "sim_play.h"
#include "sim_random.h"
#include "sim_record.h"

void __wrap_ws_wide_plan(ws_tasks_t *tasks, uint32_t workers);

/// The shipped one is for more workers than a scenario has. Pools of two, of three and of four workers, and
/// so on in turn, have 2, 1 and no domains: with summaries and without.
void __wrap_ws_wide_plan(ws_tasks_t *tasks, uint32_t workers)
{
  tasks->inboxes = workers;
  tasks->domains = workers > 1 ? (4 - workers % 3) % 3 : 0;
  tasks->summaries = workers % 2 == 1 && workers > 1;
}

bool sim_guardless;

int __wrap_ws_guard_create(struct ws_pool_s *pool, uint64_t patience_ns);
int __real_ws_guard_create(struct ws_pool_s *pool, uint64_t patience_ns);

int __wrap_ws_guard_create(struct ws_pool_s *pool, uint64_t patience_ns)
{
  return sim_guardless ? 0 : __real_ws_guard_create(pool, patience_ns);
}

static int create_thread(void *unused, uint32_t index, int32_t cpu, void *(*func)(void *), void *arg)
{
  pthread_t thread;
  const int error = pthread_create(&thread, NULL, func, arg);
  if (error || cpu < 0)
    return error;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  sched_setaffinity((pid_t)thread, sizeof(set), &set); // the simulated thread's id is its kernel's number
  return 0;
}

/// All tries of one worker fail; and the guard's first, or not.
#define REFUSED 8u

static void be_silent(void *unused, const char *message) {}

static int create(ws_pool_t **pool, const ws_settings_t *settings, bool confined)
{
  cpu_set_t had, first;
  CPU_ZERO(&first);
  CPU_SET(0, &first);
  if (confined)
    sched_getaffinity(0, sizeof(had), &had);
  if (confined)
    sched_setaffinity(0, sizeof(first), &first);
  const int result = ws_pool_create(pool, settings);
  if (confined)
    sched_setaffinity(0, sizeof(had), &had);
  return result;
}

static void make(uint32_t index)
{
  const sim_pool_plan_t *plan = &sim_scene->pool[index];
  ws_settings_t settings;
  ws_settings_default(&settings);
  settings.workers = plan->workers;
  settings.cores = plan->pinned ? plan->core : NULL;
  settings.core_count = plan->pinned ? plan->workers : 0;
  settings.sched_class = plan->class;
  settings.sched_priority = plan->class >= WS_CLASS_RR ? plan->priority : 0;
  settings.queue_capacity = plan->capacity;
  settings.lanes = plan->lanes;
  settings.full = plan->full;
  settings.fifo = plan->fifo;
  settings.spin = plan->spin;
  settings.spin_lead_ns = (uint64_t)(plan->lead_us * 1000);
  settings.spin_ns_max = (uint64_t)(plan->spin_us * 1000);
  settings.join_spin_ns_max = (uint64_t)(plan->join_spin_us * 1000);
  settings.thread_create = plan->host_threads ? create_thread : NULL;
  settings.warn = be_silent;
  ws_pool_t *pool;
  sim_guardless = plan->no_guard;
  if (plan->refused) {
    sim_fault.granted = 2 + (uint32_t)sim_random_below(plan->workers + 1); // the guard, and a worker
    sim_fault.refused = REFUSED + (uint32_t)sim_random_below(2);
  }
  const int result = create(&pool, &settings, plan->confined);
  sim_fault.refused = 0;
  if (result < 0 && (result != -ENOMEM || sim_scene->fault.map_share == 0))
    sim_finding("a pool could not be made: %d", result);
  sim_pool[index] = pool;
  if (pool)
    sim_mask_check_guard(pool);
  if (pool && ws_sleep_pool(pool)->guarded)
    sim_thread[ws_sleep_pool(pool)->guard_thread - 1]->slow_ps = (sim_ps_t)(sim_scene->guard_slow_us * 1e6);
}

static void stop(uint32_t index)
{
  const bool aborts = sim_scene->pool[index].aborts;
  sim_record_aborting[index] = aborts;
  const int64_t result = ws_pool_stop(sim_pool[index], aborts ? WS_STOP_ABORT : WS_STOP_DRAIN);
  if (result < 0 || (result > 0 && !aborts))
    sim_finding("the stop of pool %u returned %lld", index, (long long)result);
}

static void destroy(uint32_t index, bool stopped)
{
  if (stopped)
    sim_quiet_check_stopped(sim_pool[index], index);
  ws_pool_destroy(sim_pool[index]);
  sim_pool[index] = NULL;
}

static void announce(const sim_burst_t *burst, ws_pool_t *pool)
{
  const uint64_t us = 1000;
  if (burst->hint == SIM_HINT_PREWAKE)
    ws_pool_prewake(pool, burst->count, 50 * us);
  else if (burst->hint == SIM_HINT_PREWAKE_AT) {
    const sim_ps_t at_ps = sim_self->now_ps + 200 * SIM_PS_PER_US;
    ws_pool_prewake_at(pool, burst->count, (uint64_t)(at_ps / SIM_PS_PER_NS));
    sim_work(at_ps - sim_self->now_ps - (sim_ps_t)sim_random_below(60 * SIM_PS_PER_US));
  } else if (burst->hint == SIM_HINT_PHASE)
    ws_pool_phase_begin(pool, burst->count);
}

static void hint(const sim_burst_t *burst, bool begins)
{
  ws_pool_t *pool = sim_pool[burst->pool];
  if (pool && begins)
    announce(burst, pool);
  else if (pool && burst->hint == SIM_HINT_PHASE)
    ws_pool_phase_end(pool);
}

static void do_nothing(void) {}

const sim_front_t sim_core_front = {
    .make = make,
    .stop = stop,
    .destroy = destroy,
    .hint = hint,
    .burst = sim_burst_run,
    .look = do_nothing,
    .end = sim_quiet_check_end,
};
