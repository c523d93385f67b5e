// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_special.c
/// sim_special.h.
#include "sim_special.h"

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
  for (uint32_t i = 0; i < scenario->actors; i++)
    for (uint32_t j = 0; j < scenario->actor[i].actions; j++)
      spinners_action(&scenario->actor[i].action[j]);
  scenario->push_starves = one_in(2) ? 0.1 : 0;
  for (uint32_t i = 0; i < scenario->outsides; i++) {
    scenario->outside[i].at_us = log_between(50, 3000);
    scenario->outside[i].length_us = log_between(5000, 30000);
  }
}

static void shim_action(sim_action_t *action)
{
  sim_burst_t *burst = &action->burst;
  action->sets_spin = false;
  burst->kind = burst->kind == SIM_TASK_EXIT ? SIM_TASK_WORK : burst->kind;
  burst->leaf = burst->leaf == SIM_TASK_EXIT ? SIM_TASK_WORK : burst->leaf;
  burst->cover = burst->earlier = 0;
}

void sim_special_shim(sim_scenario_t *scenario)
{
  scenario->shape = (sim_shape_t)between(SIM_SHAPE_FIFO, SIM_SHAPE_COUNTER);
  const bool above = one_in(4); // the host's other threads go first on the workers' CPUs
  scenario->actors_realtime = scenario->actors_realtime || above;
  scenario->exits = false;
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
  for (uint32_t i = 0; i < scenario->actors; i++)
    for (uint32_t j = 0; j < scenario->actor[i].actions; j++)
      shim_action(&scenario->actor[i].action[j]);
}
