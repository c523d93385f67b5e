// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_special.c
/// sim_draw.h.
#include "sim_draw.h"

void sim_special_crowd(sim_scenario_t *scenario)
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

void sim_special_spinners(sim_scenario_t *scenario)
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

/// Singly, by threads that mostly do not wait: they keep their claims from one push to the next.
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

/// A dispatcher claims several workers only where several wait at once.
static void widen(sim_machine_t *machine)
{
  if (machine->cpus >= 4)
    return;
  machine->cpus = machine->node_cpus = machine->llc_cpus = between(4, 8);
  machine->smt = 1;
}

void sim_special_handovers(sim_scenario_t *scenario)
{
  const bool deals = one_in(2);
  if (deals) {
    widen(&sim_machine);
    scenario->machine = sim_machine;
  }
  sim_special_spinners(scenario);
  for (uint32_t i = 0; i < scenario->pools; i++) {
    scenario->pool[i].workers = deals ? between(3, SIM_WORKERS_MAX) : between(2, 4);
    scenario->pool[i].pinned |= deals; // a dispatcher that loses its CPU does not get another one
  }
  if (deals)
    scenario->guard_slow_us = 0;
  change_actions(scenario, deals ? dispatch_action : handovers_action);
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

void sim_special_lulls(sim_scenario_t *scenario)
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

void sim_special_buries(sim_scenario_t *scenario)
{
  change_actions(scenario, buries_action);
}

static void shim_action(sim_action_t *action)
{
  sim_burst_t *burst = &action->burst;
  action->sets_spin = false;
  burst->cover = burst->earlier = 0;
}

void sim_special_shim(sim_scenario_t *scenario)
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
    pool->spin = pool->spin == WS_SPIN_HOT ? WS_SPIN_AUTO : pool->spin;
    pool->class = above ? WS_CLASS_RR : pool->class;
    pool->pinned = above || pool->pinned;
  }
  change_actions(scenario, shim_action);
}
