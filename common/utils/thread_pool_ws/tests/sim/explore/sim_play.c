// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_play.c
/// sim_play.h: the host program, which makes the pools, lets threads push to them, and stops them.
#define _GNU_SOURCE
#include "sim_play.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>

#include "../../../core/ws_types.h"
#include "sim_disturb.h"
#include "sim_libc.h"
#include "sim_quiet.h"
#include "sim_record.h"
#include "sim_strand.h"
#include "sim_work.h"

#define HOT_PS (80 * SIM_PS_PER_MS)
#define TOGETHER_PS (200 * SIM_PS_PER_US)
#define END_PS (120 * SIM_PS_PER_S)

const sim_scenario_t *sim_scene;
ws_pool_t *sim_pool[SIM_POOLS_MAX];

sim_ps_t sim_together_ps;

static bool is_over;
static bool stopped[SIM_POOLS_MAX];

static int create_thread(void *plan_arg, uint32_t index, int32_t cpu, void *(*func)(void *), void *arg)
{
  const sim_pool_plan_t *plan = plan_arg;
  pthread_t thread;
  const int error = pthread_create(&thread, NULL, func, arg);
  if (plan->no_guard && index + 1 == plan->workers)
    sim_fault.create_share = 1; // what the pool creates next is its guard
  if (error || cpu < 0)
    return error;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  sched_setaffinity((pid_t)thread, sizeof(set), &set); // the simulated thread's id is its kernel's number
  return 0;
}

static void be_silent(void *unused, const char *message)
{
  (void)unused;
  (void)message;
}

static void make_pool(uint32_t index)
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
  settings.create_arg = (void *)(uintptr_t)plan;
  settings.warn = be_silent;
  ws_pool_t *pool;
  const int result = ws_pool_create(&pool, &settings);
  sim_fault.create_share = sim_scene->fault.create_share;
  if (result < 0 && (result != -ENOMEM || sim_scene->fault.map_share == 0))
    sim_finding("a pool could not be made: %d", result);
  sim_pool[index] = pool;
  stopped[index] = false;
}

static void *stop_thread(void *index_arg)
{
  const uint32_t index = (uint32_t)(uintptr_t)index_arg;
  const bool aborts = sim_scene->pool[index].aborts;
  sim_record_aborting[index] = aborts;
  const int64_t result = ws_pool_stop(sim_pool[index], aborts ? WS_STOP_ABORT : WS_STOP_DRAIN);
  if (result < 0 || (result > 0 && !aborts))
    sim_finding("the stop of pool %u returned %lld", index, (long long)result);
  return NULL;
}

static void *wait_thread(void *index_arg)
{
  ws_pool_wait(sim_pool[(uint32_t)(uintptr_t)index_arg]);
  return NULL;
}

/// A task that a wait or a stop helps with may end its thread.
static void in_thread(void *(*func)(void *), uint32_t index)
{
  pthread_t thread;
  while (pthread_create(&thread, NULL, func, (void *)(uintptr_t)index) != 0)
    sim_sleep_until(sim_self->now_ps + 100 * SIM_PS_PER_US);
  pthread_join(thread, NULL);
}

static void stop_pool(uint32_t index)
{
  if (!sim_pool[index] || stopped[index])
    return;
  in_thread(stop_thread, index);
  stopped[index] = true;
}

static void stop_pools(void)
{
  const uint32_t pools = sim_scene->pools;
  for (uint32_t i = 0; i < pools; i++)
    stop_pool(sim_scene->stops_backwards ? pools - 1 - i : i);
}

static void end_pools(void)
{
  if (!sim_scene->destroys || sim_scene->exits)
    stop_pools();
  for (uint32_t i = 0; i < sim_scene->pools; i++) {
    ws_pool_t *pool = sim_pool[i];
    if (!pool)
      continue;
    if (stopped[i])
      sim_quiet_check_stopped(pool, i);
    ws_pool_destroy(pool);
    sim_pool[i] = NULL;
  }
}

static void make_late_pools(void)
{
  for (uint32_t i = 0; i < sim_scene->pools; i++) {
    if (sim_scene->pool[i].late_us == 0)
      continue;
    sim_sleep_until(sim_self->now_ps + (sim_ps_t)(sim_scene->pool[i].late_us * 1e6));
    make_pool(i);
  }
}

static void check_quiet(void)
{
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    if (sim_pool[i] && !stopped[i] && ws_load_relaxed(&sim_pool[i]->spin) != WS_SPIN_HOT) {
      in_thread(wait_thread, i);
      sim_quiet_check(sim_pool[i], i);
    }
}

typedef struct {
  pthread_t thread[SIM_ACTORS_MAX];
  bool runs[SIM_ACTORS_MAX];
} actors_t;

static void start_actors(actors_t *actors, uint32_t first, uint32_t end)
{
  sim_together_ps = sim_self->now_ps + TOGETHER_PS;
  for (uint32_t i = first; i < end; i++)
    actors->runs[i] = pthread_create(&actors->thread[i], NULL, sim_actor_thread,
                                     (void *)(uintptr_t)&sim_scene->actor[i]) == 0;
}

static void join_actors(const actors_t *actors, uint32_t first, uint32_t end)
{
  for (uint32_t i = first; i < end; i++)
    if (actors->runs[i])
      pthread_join(actors->thread[i], NULL);
}

static void play_round(void)
{
  actors_t actors;
  const uint32_t all = sim_scene->actors, first = sim_scene->generations > 1 ? all / 2 : all;
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    if (sim_scene->pool[i].late_us == 0)
      make_pool(i);
  start_actors(&actors, 0, first);
  make_late_pools();
  if (sim_scene->stops_early) {
    sim_sleep_until(sim_self->now_ps + (sim_ps_t)(sim_scene->stop_us * 1e6));
    stop_pools();
  }
  join_actors(&actors, 0, first);
  start_actors(&actors, first, all);
  join_actors(&actors, first, all);
  if (sim_scene->looks_hot)
    sim_sleep_until(sim_self->now_ps + HOT_PS);
  if (sim_scene->looks_quiet)
    check_quiet();
  end_pools();
  sim_quiet_check_end();
  sim_record_next_round();
}

static void *host_thread(void *unused)
{
  for (uint32_t i = 0; i < sim_scene->rounds; i++)
    play_round();
  is_over = true;
  return unused;
}

static bool over(void)
{
  return is_over;
}

void sim_play(const sim_scenario_t *scenario)
{
  sim_scene = scenario;
  sim_disturb_reset();
  sim_fault_begin(&scenario->fault);
  sim_thread_t like = {
      .class = scenario->actors_realtime ? SIM_REALTIME : SIM_FAIR, .priority = 60, .slack_ns = 50000};
  like.allowed[0] = (UINT64_C(1) << sim_machine.cpus) - 1;
  sim_outside_begin();
  sim_strand_begin();
  sim_thread_new(&like, host_thread, NULL, SIM_PS_PER_S);
  if (!sim_run(over, END_PS))
    sim_finding("hang: it did not end within %lld s of virtual time", (long long)(END_PS / SIM_PS_PER_S));
}
