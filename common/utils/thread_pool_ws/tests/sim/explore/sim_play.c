// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_play.c
/// sim_play.h: the host program, which makes the pools, lets threads push to them, and stops them.
#include "sim_play.h"

#include <pthread.h>

#include "../../../sleep/ws_sleep_state.h"
#include "sim_checks.h"
#include "sim_fault.h"
#include "sim_libc.h"
#include "sim_random.h"
#include "sim_record.h"

#define HOT_PS (80 * SIM_PS_PER_MS)
#define TOGETHER_PS (200 * SIM_PS_PER_US)
#define END_PS (120 * SIM_PS_PER_S)

const sim_scenario_t *sim_scene;
const sim_front_t *sim_front;
ws_pool_t *sim_pool[SIM_POOLS_MAX];

sim_ps_t sim_stop_ps;
/// When the threads that push begin, if they begin together.
static sim_ps_t together_ps;

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
    if (sim_pool[i] && !stopped[i] && ws_load_relaxed(&ws_sleep_pool(sim_pool[i])->spin) != WS_SPIN_HOT) {
      sim_quiet_check_spared(sim_pool[i], i);
      in_thread(wait_thread, i);
      sim_quiet_check(sim_pool[i], i);
    }
}

// Threads outside that push: what one does from its first action to its last.

/// The longest wait for the guard, what it takes in a look, and half of the longest stop in it.
#define GUARD_WAIT_PS (30 * SIM_PS_PER_MS)
#define GUARD_STEPS 100u
#define GUARD_STOP_PS_MIN (300 * SIM_PS_PER_US)

static void burst_action(const sim_burst_t *burst)
{
  sim_ps_t next_ps = sim_self->now_ps;
  sim_front->hint(burst, true);
  for (uint32_t i = 0; i < burst->repeat; i++) {
    sim_sleep_until(next_ps);
    next_ps += (sim_ps_t)(burst->period_us * 1e6);
    sim_front->burst(burst, burst->pool, burst->depth);
  }
  sim_front->hint(burst, false);
}

/// @return the number of the guard's last look; most: the pool is gone
static uint64_t guard_looks(uint32_t index)
{
  sim_front->look();
  ws_pool_t *pool = sim_pool[index];
  return pool ? ws_load_relaxed(&ws_sleep_pool(pool)->count.guard_looks) : UINT64_MAX - 1;
}

/// Busy, because a timer may come late by more than the guard is stopped for. Ends without it where the guard
/// is dormant, or gets no CPU.
static void await_stopped_guard(const sim_action_t *action)
{
  const uint32_t index = action->burst.pool;
  sim_front->look();
  if (!sim_pool[index] || !ws_sleep_pool(sim_pool[index])->guarded)
    return;
  sim_thread_t *guard = sim_thread[ws_sleep_pool(sim_pool[index])->guard_thread - 1];
  const uint64_t last = guard_looks(index) + action->stops_look;
  const sim_ps_t until_ps = sim_self->now_ps + GUARD_WAIT_PS;
  while (guard_looks(index) + 1 < last && sim_self->now_ps < until_ps)
    sim_sleep_until(sim_self->now_ps + 100 * SIM_PS_PER_US);
  while (guard_looks(index) < last && sim_self->now_ps < until_ps)
    sim_work(2 * SIM_PS_PER_US);
  sim_fault_stall_later(guard, 1 + (uint32_t)sim_random_below(GUARD_STEPS),
                        GUARD_STOP_PS_MIN + (sim_ps_t)sim_random_below(GUARD_STOP_PS_MIN));
  while (!guard->stalled && sim_self->now_ps < until_ps)
    sim_work(2 * SIM_PS_PER_US);
}

static void *actor_thread(void *actor_arg)
{
  const sim_actor_t *actor = actor_arg;
  if (sim_scene->together && sim_self->now_ps < together_ps)
    sim_work(together_ps - sim_self->now_ps);
  else
    sim_sleep_until(sim_self->now_ps + (sim_ps_t)(actor->start_us * 1e6));
  for (uint32_t i = 0; i < actor->actions; i++) {
    const sim_action_t *action = &actor->action[i];
    if (action->stops_look > 0)
      await_stopped_guard(action);
    if (action->pause_us > 0)
      sim_sleep_until(sim_self->now_ps + (sim_ps_t)(action->pause_us * 1e6));
    if (!action->sets_spin)
      burst_action(&action->burst);
    else if (sim_pool[action->burst.pool])
      ws_pool_set_spin(sim_pool[action->burst.pool], action->spin, 20000);
  }
  return NULL;
}

typedef struct {
  pthread_t thread[SIM_ACTORS_MAX];
  bool runs[SIM_ACTORS_MAX];
} actors_t;

static void start_actors(actors_t *actors, uint32_t first, uint32_t end)
{
  together_ps = sim_self->now_ps + TOGETHER_PS;
  for (uint32_t i = first; i < end; i++)
    actors->runs[i] =
        pthread_create(&actors->thread[i], NULL, actor_thread, (void *)(uintptr_t)&sim_scene->actor[i]) == 0;
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

// What other programs and the operator do meanwhile.

static void set_mask(sim_thread_t *thread, uint64_t mask, sim_ps_t now_ps)
{
  if (sim_is_hog(thread) || thread->state == SIM_ENDED)
    return;
  sim_mask_tell(thread, mask);
  thread->allowed[0] = mask;
  sim_thread_settle(thread, now_ps);
}

static void change_masks(void *outside_arg, sim_ps_t now_ps)
{
  const sim_outside_t *outside = outside_arg;
  if (outside->kind == SIM_EVENT_MASK_ONE) {
    set_mask(sim_thread[outside->thread % sim_threads], outside->mask, now_ps);
    return;
  }
  for (uint32_t i = 0; i < sim_threads; i++)
    set_mask(sim_thread[i], outside->mask, now_ps);
}

static void count_throttled(void *unused, sim_ps_t now_ps)
{
  sim_throttled++;
}

static void begin_one(const sim_outside_t *outside)
{
  const sim_ps_t at_ps = SIM_PS_PER_S + (sim_ps_t)(outside->at_us * 1e6);
  const sim_ps_t length_ps = (sim_ps_t)(outside->length_us * 1e6);
  if (outside->kind == SIM_EVENT_HOG)
    sim_fault_hog(outside->cpu, at_ps, length_ps);
  for (uint32_t cpu = 0; cpu < sim_machine.cpus && outside->kind == SIM_EVENT_THROTTLE; cpu++)
    sim_fault_hog(cpu, at_ps, length_ps);
  if (outside->kind != SIM_EVENT_HOG)
    sim_event_add((sim_event_t){.at_ps = at_ps,
                                .kind = SIM_EVENT_CALL,
                                .call = outside->kind == SIM_EVENT_THROTTLE ? count_throttled : change_masks,
                                .arg = (void *)(uintptr_t)outside});
}

static void begin_outside(void)
{
  for (uint32_t i = 0; i < sim_scene->outsides; i++)
    begin_one(&sim_scene->outside[i]);
}

static const sim_front_t *front_of(sim_shape_t shape)
{
  static const sim_front_t *const fronts[] = {&sim_core_front, &sim_fifo_front, &sim_array_front,
                                              &sim_counter_front, &sim_joins_front};
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
  begin_outside();
  sim_strand_begin();
  sim_thread_new(&like, host_thread, NULL, SIM_PS_PER_S);
  if (!sim_run(over, END_PS))
    sim_finding("hang: it did not end within %lld s of virtual time", (long long)(END_PS / SIM_PS_PER_S));
}
