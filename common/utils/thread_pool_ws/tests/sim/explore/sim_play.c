// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_play.c
/// sim_play.h: the host program, which makes the pools, lets threads push to them, and stops them.
#include "sim_play.h"

#include <pthread.h>

#include "../../../pool/ws_types.h"
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
const sim_front_t *sim_front;
ws_pool_t *sim_pool[SIM_POOLS_MAX];

sim_ps_t sim_together_ps, sim_stop_ps;

static bool is_over;
static bool stopped[SIM_POOLS_MAX];

static void make_pool(uint32_t index)
{
  sim_front->make(index);
  stopped[index] = false;
}

static void *stop_thread(void *index_arg)
{
  sim_front->stop((uint32_t)(uintptr_t)index_arg);
  return NULL;
}

static void *wait_thread(void *index_arg)
{
  ws_pool_wait(sim_pool[(uint32_t)(uintptr_t)index_arg]);
  return NULL;
}

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
  if (!sim_scene->destroys)
    stop_pools();
  for (uint32_t i = 0; i < sim_scene->pools; i++)
    if (sim_pool[i])
      sim_front->destroy(i, stopped[i]);
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
    actors->runs[i] =
        pthread_create(&actors->thread[i], NULL, sim_actor_thread, (void *)(uintptr_t)&sim_scene->actor[i])
        == 0;
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
    sim_stop_ps = sim_self->now_ps + (sim_ps_t)(sim_scene->stop_us * 1e6);
    sim_sleep_until(sim_stop_ps);
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
  sim_front->end();
  sim_record_next_round();
}

static void *host_thread(void *unused)
{
  for (uint32_t i = 0; i < sim_scene->rounds; i++)
    play_round();
  is_over = true;
  return unused;
}

static const sim_front_t *front_of(sim_shape_t shape)
{
  static const sim_front_t *const fronts[] = {&sim_core_front, &sim_fifo_front, &sim_array_front,
                                              &sim_counter_front};
  return fronts[shape];
}

static bool over(void)
{
  return is_over;
}

void sim_play(const sim_scenario_t *scenario)
{
  sim_scene = scenario;
  sim_front = front_of(scenario->shape);
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
