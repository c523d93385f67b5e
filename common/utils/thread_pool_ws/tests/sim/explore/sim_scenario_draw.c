// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_scenario_draw.c
/// sim_scenario.h: what is drawn, and how often. Sizes are small on purpose: a scenario has some thousand
/// scheduling points, and most races need two or three threads.
#include "sim_scenario.h"

#include <math.h>
#include <string.h>

#include "../../stress/ws_joins.h"
#include "sim_random.h"

/// Seeds that this divides use a shim.
#define SHIM_EVERY 5u

static uint32_t below(uint32_t bound)
{
  return (uint32_t)sim_random_below(bound);
}

static uint32_t between(uint32_t least, uint32_t most)
{
  return least + below(most - least + 1);
}

static bool one_in(uint32_t count)
{
  return below(count) == 0;
}

/// Each order of magnitude as likely.
static double log_between(double least, double most)
{
  return least * pow(most / least, sim_random_unit());
}

static void scale(double *cost, double least, double most)
{
  *cost *= log_between(least, most);
}

static void draw_machine(sim_scenario_t *scenario)
{
  sim_machine_default();
  sim_machine_t *machine = &sim_machine;
  machine->cpus = one_in(3) ? 2 : between(1, 8);
  machine->smt = machine->cpus % 2 == 0 && one_in(4) ? 2 : 1;
  machine->node_cpus = machine->cpus > 3 && one_in(4) ? machine->cpus / 2 : machine->cpus;
  machine->llc_cpus = machine->node_cpus;
  machine->pause_ns = 150;
  double *const costs[] = {&machine->modify_ns, &machine->llc_ns,     &machine->fence_ns,
                           &machine->pause_ns,  &machine->syscall_ns, &machine->wake_busy_ns,
                           &machine->switch_ns, &machine->migrate_ns, &machine->create_ns};
  for (uint32_t i = 0; i < sizeof(costs) / sizeof(costs[0]); i++)
    scale(costs[i], 0.5, 4);
  scale(&machine->slice_us, 0.3, 2);
  scale(&machine->granularity_us, 0.3, 2);
  const double slower = one_in(4) ? log_between(1, 20) : 1;
  for (uint32_t i = 0; i < SIM_QUANTILES; i++) {
    machine->call.spread[0].ns[i] *= slower;
    machine->wake.spread[0].ns[i] *= slower;
    machine->timer.spread[0].ns[i] *= slower;
  }
  if (one_in(8))
    machine->quota_cpus = 0.5 + 0.5 * below(2 * machine->cpus);
  if (one_in(8))
    machine->stay_share = sim_random_unit();
  if (one_in(10)) {
    machine->detours_per_s = log_between(100, 20000);
    machine->detour = (sim_spread_t){{200, 500, 1000, 5000, 20000, 100000}};
  }
  scenario->machine = *machine;
}

static void draw_order(sim_fault_t *fault)
{
  const uint32_t kind = below(8);
  fault->order = kind < 5 ? SIM_ORDER_RANDOM : kind < 7 ? SIM_ORDER_PCT : SIM_ORDER_COSTS;
  fault->changes = between(0, 4);
  fault->steps = (uint64_t)log_between(1000, 20000);
  if (one_in(3)) {
    fault->stall_share = log_between(1e-5, 1e-3);
    fault->stall_us_min = 1;
    fault->stall_us_max = log_between(10, 3000);
  }
  if (one_in(4)) {
    fault->stall_at = 1 + (uint64_t)log_between(100, 20000);
    fault->starve_us = log_between(10, one_in(20) ? 1e6 : 3e4);
  }
}

static void draw_fault(sim_fault_t *fault)
{
  memset(fault, 0, sizeof(*fault));
  draw_order(fault);
  if (one_in(4))
    fault->spurious_share = log_between(0.01, 0.5);
  if (one_in(6))
    fault->late_share = log_between(0.01, 0.5);
  if (one_in(12))
    fault->create_share = log_between(0.05, 0.5);
  if (one_in(12))
    fault->map_share = log_between(0.05, 0.5);
}

static ws_spin_t draw_spin(void)
{
  const uint32_t kind = below(10);
  return kind < 4 ? WS_SPIN_AUTO : kind < 7 ? WS_SPIN_OFF : kind < 9 ? WS_SPIN_FIXED : WS_SPIN_HOT;
}

static void draw_pool(sim_pool_plan_t *pool)
{
  static const uint32_t capacity[] = {2, 4, 8, 16, 64, 256};
  static const double spin_us[] = {0, 3, 10, 40};
  const uint32_t cpus = sim_machine.cpus;
  pool->workers = one_in(12) ? 0 : one_in(2) ? between(1, 4) : between(1, SIM_WORKERS_MAX);
  pool->class = (ws_class_t)(one_in(3) ? between(WS_CLASS_OTHER, WS_CLASS_FIFO) : WS_CLASS_INHERIT);
  pool->priority = (int32_t)between(1, 50);
  pool->pinned = one_in(3);
  for (uint32_t i = 0; i < SIM_WORKERS_MAX; i++)
    pool->core[i] = one_in(6) ? -1 : (int32_t)(one_in(3) ? below(cpus) : i % cpus);
  pool->capacity = capacity[below(6)];
  pool->lanes = one_in(3) ? between(1, 2) : 8;
  pool->full = (ws_full_t)(one_in(2) ? WS_FULL_GROW : below(3));
  pool->fifo = one_in(4);
  pool->spin = draw_spin();
  pool->lead_us = pool->spin == WS_SPIN_FIXED ? floor(log_between(1, 100)) : 0;
  pool->spin_us = spin_us[below(4)];
  pool->join_spin_us = spin_us[below(4)];
  pool->no_guard = one_in(6);
  pool->host_threads = pool->no_guard || one_in(8);
  pool->late_us = one_in(4) ? log_between(1, 3000) : 0;
  pool->aborts = one_in(4);
}

static sim_task_kind_t draw_kind(void)
{
  return below(20) < 8 ? SIM_TASK_WORK : (sim_task_kind_t)between(SIM_TASK_NEST, SIM_TASK_PAIR);
}

static void draw_burst(const sim_scenario_t *scenario, sim_burst_t *burst)
{
  *burst = (sim_burst_t){
      .pool = one_in(2) ? 0 : below(scenario->pools),
      .count = one_in(4) ? 1 : between(1, one_in(3) ? 40 : 10),
      .by = (sim_push_by_t)below(SIM_BY_KINDS),
      .end = one_in(2) ? SIM_END_GROUP : (sim_end_t)below(SIM_END_KINDS),
      .hint = one_in(4) ? (sim_hint_t)below(SIM_HINT_KINDS) : SIM_HINT_NONE,
      .kind = draw_kind(),
      .every = one_in(2) ? 1 : between(1, 5),
      .leaf = one_in(3) ? draw_kind() : SIM_TASK_WORK,
      .work_us = one_in(4) ? 0 : log_between(0.1, one_in(8) ? 2000 : 100),
      .repeat = 1,
  };
  const bool pushes =
      burst->kind == SIM_TASK_NEST || burst->kind == SIM_TASK_SPAWN || burst->kind == SIM_TASK_CROSS;
  burst->depth = pushes ? between(1, one_in(4) ? 4 : 2) : burst->kind == SIM_TASK_BLOCK ? below(2) : 0;
  if (burst->kind == SIM_TASK_SLEEP && one_in(4))
    burst->work_us = log_between(100, 10000);
  burst->cover = one_in(4) ? between(1, 4) : 0;
  burst->fan = between(1, burst->depth > 2 ? 2 : 4);
  if (pushes && burst->every == 1 && burst->count > 6)
    burst->count = 6;
  if (one_in(12)) {
    burst->earlier = between(1, 2);
    burst->count = 1;
    burst->end = SIM_END_GROUP;
    burst->repeat = between(1, 12);
    burst->work_us = log_between(0.01, 5);
  }
  if (one_in(5) && burst->earlier == 0) {
    burst->repeat = between(2, 12);
    burst->count = burst->count % 8 + 1;
    burst->period_us = one_in(3) ? 0 : log_between(50, 2000);
  }
}

/// Bursts that come when the guard becomes dormant, and gives pages back.
static void draw_rare_burst(sim_burst_t *burst)
{
  const double work_us_max = one_in(2) ? 100 : 3000;
  burst->repeat = between(2, 8);
  burst->period_us = 10000 + 6000 * sim_random_unit();
  burst->count = between(2, 40);
  burst->work_us = log_between(1, work_us_max);
  burst->earlier = 0;
}

static void draw_actor(const sim_scenario_t *scenario, sim_actor_t *actor)
{
  actor->start_us = one_in(2) ? 0 : log_between(1, 3000);
  actor->actions = between(1, one_in(2) ? 2 : SIM_ACTIONS_MAX);
  for (uint32_t i = 0; i < actor->actions; i++) {
    sim_action_t *action = &actor->action[i];
    action->pause_us = one_in(2) ? 0 : log_between(1, one_in(8) ? 80000 : 500);
    action->sets_spin = one_in(12);
    action->spin = draw_spin();
    draw_burst(scenario, &action->burst);
    if (one_in(40))
      draw_rare_burst(&action->burst);
  }
}

static void draw_outside(sim_outside_t *outside)
{
  const uint32_t kind = below(10);
  outside->kind = kind < 5   ? SIM_EVENT_HOG
                  : kind < 6 ? SIM_EVENT_THROTTLE
                  : kind < 8 ? SIM_EVENT_MASK_ONE
                             : SIM_EVENT_MASK_ALL;
  outside->at_us = log_between(1, 5000);
  outside->length_us = log_between(100, one_in(30) ? 1e6 : 3e4);
  outside->cpu = below(sim_machine.cpus);
  outside->thread = below(64);
  outside->mask = 1 + sim_random_below((UINT64_C(1) << sim_machine.cpus) - 1);
}

static bool has_mask_changes(const sim_scenario_t *scenario)
{
  for (uint32_t i = 0; i < scenario->outsides; i++)
    if (scenario->outside[i].kind >= SIM_EVENT_MASK_ONE)
      return true;
  return false;
}

/// Workers that busy-poll take steps all the time: no long pauses.
static void shorten(sim_scenario_t *scenario)
{
  bool hot = false;
  for (uint32_t i = 0; i < scenario->pools; i++)
    hot |= scenario->pool[i].spin == WS_SPIN_HOT;
  for (uint32_t i = 0; i < SIM_ACTORS_MAX * SIM_ACTIONS_MAX; i++)
    hot |= scenario->actor[i / SIM_ACTIONS_MAX].action[i % SIM_ACTIONS_MAX].spin == WS_SPIN_HOT;
  for (uint32_t i = 0; i < SIM_ACTORS_MAX * SIM_ACTIONS_MAX && hot; i++) {
    sim_action_t *action = &scenario->actor[i / SIM_ACTIONS_MAX].action[i % SIM_ACTIONS_MAX];
    action->pause_us = fmin(action->pause_us, 1000);
    action->burst.period_us = fmin(action->burst.period_us, 1000);
    action->burst.work_us = fmin(action->burst.work_us, 1000);
  }
}

/// Whether real-time threads would have to share a CPU with workers that busy-poll there.
static bool is_crowded(const sim_scenario_t *scenario)
{
  bool any = scenario->actors_realtime, pinned = false;
  uint32_t workers = 0;
  for (uint32_t i = 0; i < scenario->pools; i++) {
    any |= scenario->pool[i].class >= WS_CLASS_RR;
    pinned |= scenario->pool[i].pinned;
    workers += scenario->pool[i].workers;
  }
  return any
         && (pinned || workers >= scenario->machine.cpus || scenario->actors_realtime
             || scenario->changes_masks);
}

/// Real-time workers that busy-poll need CPUs of their own all the time: on others they starve all threads.
static void tame(sim_scenario_t *scenario)
{
  if (!is_crowded(scenario))
    return;
  for (uint32_t i = 0; i < scenario->pools; i++)
    if (scenario->pool[i].spin == WS_SPIN_HOT)
      scenario->pool[i].spin = WS_SPIN_AUTO;
  for (uint32_t i = 0; i < scenario->actors; i++)
    for (uint32_t j = 0; j < scenario->actor[i].actions; j++)
      if (scenario->actor[i].action[j].spin == WS_SPIN_HOT)
        scenario->actor[i].action[j].spin = WS_SPIN_OFF;
}

static bool is_hot_for_long(const sim_scenario_t *scenario)
{
  bool hot = false, pinned = false;
  for (uint32_t i = 0; i < scenario->pools; i++) {
    hot |= scenario->pool[i].spin == WS_SPIN_HOT;
    pinned |= scenario->pool[i].spin == WS_SPIN_HOT && scenario->pool[i].pinned;
  }
  for (uint32_t i = 0; i < scenario->actors; i++)
    for (uint32_t j = 0; j < scenario->actor[i].actions; j++)
      hot &= !scenario->actor[i].action[j].sets_spin;
  return hot && !pinned && scenario->outsides == 0 && !scenario->actors_realtime;
}

/// Busy-polling for a tenth of a second takes many steps.
static void look_hot(sim_scenario_t *scenario)
{
  scenario->looks_hot = is_hot_for_long(scenario) && one_in(2);
  if (!scenario->looks_hot)
    return;
  scenario->machine.pause_ns = sim_machine.pause_ns = 20000;
  scenario->stops_early = false;
}

// Scenarios of one kind: one that was drawn is changed where that kind needs it.

/// Many threads, and one lane that goes from one to the next.
static void special_crowd(sim_scenario_t *scenario)
{
  for (uint32_t i = 0; i < scenario->pools; i++) {
    scenario->pool[i].lanes = 1;
    scenario->pool[i].workers = one_in(2) ? 0 : 1;
    scenario->pool[i].full = one_in(3) ? WS_FULL_GROW : WS_FULL_INLINE;
  }
  scenario->together = one_in(2);
  scenario->stops_early = true;
}

static void change_actions(sim_scenario_t *scenario, void (*change)(sim_action_t *action))
{
  for (uint32_t i = 0; i < scenario->actors; i++)
    for (uint32_t j = 0; j < scenario->actor[i].actions; j++)
      change(&scenario->actor[i].action[j]);
}

static void slow_guard(sim_scenario_t *scenario, double least_us)
{
  scenario->fault.order = SIM_ORDER_PCT;
  scenario->guard_slow_us = log_between(least_us, 20);
}

/// One burst after the other, small, from threads that do not know of each other.
static void spinners_action(sim_action_t *action)
{
  sim_burst_t *burst = &action->burst;
  action->pause_us = one_in(2) ? 0 : log_between(1, 300);
  action->sets_spin = false;
  burst->count = between(1, 4);
  burst->by = one_in(4) ? SIM_BY_BATCH : SIM_BY_PUSH;
  burst->end = one_in(3) ? SIM_END_POOL : one_in(2) ? SIM_END_GROUP : burst->end;
  burst->kind = one_in(4) ? burst->kind : SIM_TASK_WORK;
  burst->depth = burst->kind == SIM_TASK_WORK ? 0 : burst->depth;
  burst->work_us = log_between(0.1, 50);
  burst->repeat = between(3, 12);
  burst->period_us = log_between(5, 300);
  burst->earlier = 0;
}

/// Few workers that spin, and are handed tasks; others take their CPUs while they do.
static void special_spinners(sim_scenario_t *scenario)
{
  const uint32_t cpus = scenario->machine.cpus;
  for (uint32_t i = 0; i < scenario->pools; i++) {
    sim_pool_plan_t *pool = &scenario->pool[i];
    pool->workers = between(2, 4);
    pool->spin = one_in(6) ? WS_SPIN_HOT : one_in(2) ? WS_SPIN_FIXED : WS_SPIN_AUTO;
    pool->lead_us = pool->spin == WS_SPIN_FIXED ? between(20, 100) : 0;
    pool->spin_us = 40;
    pool->pinned = one_in(2);
    for (uint32_t j = 0; j < SIM_WORKERS_MAX && one_in(2); j++)
      pool->core[j] = (int32_t)(j % cpus);
  }
  change_actions(scenario, spinners_action);
  scenario->push_starves = one_in(2) ? 0.1 : 0;
  if (one_in(2))
    slow_guard(scenario, 1);
  for (uint32_t i = 0; i < scenario->outsides; i++) {
    scenario->outside[i].at_us = log_between(50, 3000);
    scenario->outside[i].length_us = log_between(5000, 30000);
  }
}

/// Singly, by threads that mostly do not wait: they keep what they have reserved from one push to the next.
static void handovers_action(sim_action_t *action)
{
  sim_burst_t *burst = &action->burst;
  spinners_action(action);
  burst->count = between(1, 6);
  burst->by = one_in(6) ? SIM_BY_BATCH : SIM_BY_PUSH;
  burst->end = one_in(2) ? SIM_END_NOTHING : burst->end;
  burst->work_us = log_between(0.1, 300);
}

/// More tasks than workers, of one group, so that there are dispatchers.
static void dispatch_action(sim_action_t *action)
{
  handovers_action(action);
  action->burst.count = between(8, 30);
  action->burst.by = one_in(3) ? SIM_BY_PUSH : SIM_BY_BATCH;
  action->burst.end = one_in(4) ? action->burst.end : SIM_END_GROUP;
  action->burst.work_us = log_between(0.5, one_in(4) ? 300 : 30);
  action->burst.cover = one_in(2) ? between(1, 6) : 0;
  if (!one_in(3))
    return;
  action->burst.kind = SIM_TASK_NEST;
  action->burst.depth = 1;
  action->burst.fan = between(1, 3);
  action->burst.every = between(1, 3);
}

/// A dispatcher reserves several workers only where several wait at once.
static void widen(sim_machine_t *machine)
{
  if (machine->cpus >= 4)
    return;
  machine->cpus = machine->node_cpus = machine->llc_cpus = between(4, 8);
  machine->smt = 1;
}

/// Workers are handed tasks by threads and by dispatchers that stop in the middle of it; some stop for
/// so long that the workers have left, some until the pool has ended.
static void special_handovers(sim_scenario_t *scenario)
{
  const bool dispatches = one_in(2);
  if (dispatches) {
    widen(&sim_machine);
    scenario->machine = sim_machine;
  }
  special_spinners(scenario);
  for (uint32_t i = 0; i < scenario->pools; i++) {
    scenario->pool[i].workers = dispatches ? between(3, SIM_WORKERS_MAX) : between(2, 4);
    scenario->pool[i].pinned |= dispatches; // a dispatcher that loses its CPU does not get another one
  }
  if (dispatches)
    scenario->guard_slow_us = 0;
  change_actions(scenario, dispatches ? dispatch_action : handovers_action);
  scenario->hand_stalls = log_between(0.02, 0.5);
  scenario->call_stalls = log_between(0.02, 0.5);
  scenario->stops_early = one_in(3);
  scenario->stop_us = log_between(30, 1500);
}

/// More tasks than CPUs, that come while the guard becomes dormant; and so few calls that none of them calls
/// a guard which an earlier one has missed.
static void lulls_action(sim_action_t *action)
{
  const uint32_t cpus = sim_machine.cpus;
  action->sets_spin = false;
  action->stops_look = between(14, 16); // ws_guard.c: LOOKS_MANY, and one that saw the last task's end
  action->pause_us = 0;
  action->burst = (sim_burst_t){.count = cpus + between(1, 4),
                                .by = one_in(4) ? SIM_BY_PUSH : SIM_BY_BATCH,
                                .end = one_in(4) ? SIM_END_POOL : SIM_END_GROUP,
                                .kind = one_in(3) ? SIM_TASK_SLEEP : SIM_TASK_WORK,
                                .every = 1,
                                .work_us = log_between(8000, 30000),
                                .repeat = 1};
}

/// A task that is handed over while the guard becomes dormant, to a worker that loses its CPU.
static void handed_lulls_action(sim_action_t *action)
{
  lulls_action(action);
  action->burst.count = 1;
  action->burst.by = SIM_BY_PUSH;
  action->burst.end = SIM_END_NOTHING;
  action->burst.kind = SIM_TASK_WORK;
  action->burst.work_us = log_between(1, 100);
}

static void handed_lulls(sim_scenario_t *scenario)
{
  for (uint32_t i = 0; i < scenario->pools; i++) {
    scenario->pool[i].workers = between(2, 4);
    scenario->pool[i].spin = WS_SPIN_HOT;
  }
  scenario->push_starves = 0.5;
  change_actions(scenario, handed_lulls_action);
}

/// Bursts of long tasks that come while a slow guard becomes dormant.
static void special_lulls(sim_scenario_t *scenario)
{
  for (uint32_t i = 0; i < scenario->pools; i++)
    scenario->pool[i].workers = scenario->machine.cpus + between(1, 3);
  scenario->actors = 1;
  scenario->actor[0].actions = SIM_ACTIONS_MAX;
  change_actions(scenario, lulls_action);
  if (one_in(3))
    handed_lulls(scenario);
}

/// Draws nothing.
static void buries_action(sim_action_t *action)
{
  sim_burst_t *burst = &action->burst;
  burst->count = burst->count < 3 ? burst->count : 3;
  burst->kind = SIM_TASK_NEST;
  burst->leaf = SIM_TASK_WORK;
  burst->depth = burst->every = 1;
  burst->fan = burst->cover = 24;
  burst->earlier = 0;
  burst->end = SIM_END_GROUP;
  burst->repeat = burst->repeat < 3 ? burst->repeat : 3;
  burst->work_us = burst->work_us < 1 ? burst->work_us : 1;
}

/// Tasks on workers wait for many tasks under many others: a dig must not take quadratic time.
static void special_buries(sim_scenario_t *scenario)
{
  change_actions(scenario, buries_action);
}

static void spared_action(sim_action_t *action)
{
  action->sets_spin = false;
  action->burst.end = SIM_END_NOTHING;
  action->burst.kind = SIM_TASK_WORK;
  action->burst.depth = action->burst.earlier = 0;
}

/// Draws nothing. Threads push beside a worker that is pinned to their CPU, and do not wait: the push spares
/// the worker, and the guard must wake it.
static void special_spared(sim_scenario_t *scenario)
{
  for (uint32_t i = 0; i < scenario->pools; i++) {
    sim_pool_plan_t *pool = &scenario->pool[i];
    pool->workers = 1;
    pool->core[0] = 0;
    pool->spin = WS_SPIN_OFF;
    pool->pinned = true;
    pool->no_guard = pool->host_threads = false;
  }
  change_actions(scenario, spared_action);
  scenario->looks_quiet = true;
  scenario->stops_early = scenario->looks_hot = false;
}

static void shim_action(sim_action_t *action)
{
  sim_burst_t *burst = &action->burst;
  action->sets_spin = false;
  burst->cover = burst->earlier = 0;
}

/// The pools lie behind a shim.
static void special_shim(sim_scenario_t *scenario)
{
  scenario->shape = (sim_shape_t)between(SIM_SHAPE_FIFO, SIM_SHAPE_COUNTER);
  const bool above = one_in(4); // the host's other threads go first on the workers' CPUs
  scenario->actors_realtime = scenario->actors_realtime || above;
  scenario->stops_early = scenario->stops_early || one_in(3);
  if (scenario->destroys) {
    scenario->stops_early = false;
    scenario->rounds = 1;
  }
  if (scenario->shape == SIM_SHAPE_FIFO)
    scenario->fault.create_share = 0; // an abort whose thread cannot be made never ends the pool
  for (uint32_t i = 0; i < scenario->pools; i++) {
    sim_pool_plan_t *pool = &scenario->pool[i];
    pool->aborts = one_in(2);
    pool->full = WS_FULL_GROW;
    pool->fifo = pool->host_threads = true;
    pool->class = above ? WS_CLASS_RR : pool->class;
    pool->pinned = above || pool->pinned;
  }
  change_actions(scenario, shim_action);
}

/// A program of joins: its seed draws it, and the pools' settings.
static void special_joins(sim_scenario_t *scenario)
{
  scenario->shape = SIM_SHAPE_JOINS;
  scenario->pools = ws_joins_pools(scenario->seed);
  scenario->actors = scenario->actor[0].actions = scenario->actor[0].action[0].burst.repeat = 1;
  scenario->actor[0].action[0].sets_spin = scenario->stops_early = scenario->actors_realtime = false;
  scenario->fault.create_share = scenario->fault.map_share = 0; // else tasks run where joins need others
  memset(scenario->pool, 0, sizeof(scenario->pool));
}

static void draw_special(sim_scenario_t *scenario)
{
  if (scenario->actors > 2 && one_in(4))
    special_crowd(scenario);
  else if (one_in(6))
    special_spinners(scenario);
  else if (one_in(6))
    special_handovers(scenario);
  else if (one_in(10))
    special_lulls(scenario);
  if (scenario->seed >= SIM_JOINS_FIRST)
    special_joins(scenario);
  else if (scenario->seed % SHIM_EVERY == 0)
    special_shim(scenario);
}

/// Floating workers take over the affinity of the thread that makes the pool.
static bool no_worker_floats(const sim_pool_plan_t *pool)
{
  bool floats = !pool->pinned;
  for (uint32_t i = 0; i < pool->workers; i++)
    floats |= pool->core[i] < 0;
  return !floats;
}

/// Of the seed alone: nothing else is drawn otherwise than without them.
static void draw_kinds(sim_scenario_t *scenario)
{
  const uint64_t hash = scenario->seed * UINT64_C(0x9E3779B97F4A7C15) >> 32;
  scenario->prioritized = hash % 4 == 0;
  scenario->hinted = hash / 16 % 4 == 0;
  scenario->yields = hash / 64 % 3 == 0;
  scenario->limits = hash / 1024 % 4 == 0;
  if (scenario->prioritized && hash / 64 % 8 == 0 && scenario->shape == SIM_SHAPE_CORE)
    special_buries(scenario);
  if (hash / 4096 % 32 == 28 && scenario->shape == SIM_SHAPE_CORE) // no stored seed has this remainder
    special_spared(scenario);
}

void sim_scenario_draw(sim_scenario_t *scenario, uint64_t seed)
{
  memset(scenario, 0, sizeof(*scenario));
  sim_random_seed(seed);
  scenario->seed = seed;
  draw_machine(scenario);
  draw_fault(&scenario->fault);
  scenario->call_stalls = one_in(3) ? log_between(0.01, 0.5) : 0;
  scenario->look_stalls = one_in(3) ? log_between(0.03, 1) : 0;
  scenario->together = one_in(3);
  scenario->actors_realtime = one_in(8);
  scenario->pools = one_in(3) ? between(1, SIM_POOLS_MAX) : 1;
  for (uint32_t i = 0; i < scenario->pools; i++)
    draw_pool(&scenario->pool[i]);
  scenario->actors = one_in(3) ? between(1, SIM_ACTORS_MAX) : between(1, 2);
  for (uint32_t i = 0; i < scenario->actors; i++)
    draw_actor(scenario, &scenario->actor[i]);
  scenario->generations = scenario->actors > 1 && one_in(3) ? 2 : 1;
  scenario->outsides = one_in(3) ? between(1, one_in(3) ? SIM_EVENTS_MAX : 2) : 0;
  for (uint32_t i = 0; i < scenario->outsides; i++)
    draw_outside(&scenario->outside[i]);
  scenario->stops_early = one_in(4);
  scenario->stop_us = log_between(1, 5000);
  scenario->stops_backwards = one_in(2);
  scenario->destroys = one_in(4);
  scenario->looks_quiet = one_in(3);
  scenario->rounds = one_in(10) ? 2 : 1;
  scenario->changes_masks = has_mask_changes(scenario);
  draw_special(scenario);
  tame(scenario);
  look_hot(scenario);
  shorten(scenario);
  draw_kinds(scenario);
  for (uint32_t i = 0; i < scenario->pools; i++) { // last: nothing else is drawn otherwise than without it
    scenario->pool[i].confined = no_worker_floats(&scenario->pool[i]) && one_in(2);
    scenario->pool[i].refused =
        scenario->shape == SIM_SHAPE_CORE && !scenario->pool[i].host_threads && one_in(6);
  }
}
