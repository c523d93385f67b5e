// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_actor.c
/// Threads outside that push: what one does from its first action to its last.
#include "../../../pool/ws_types.h"
#include "sim_play.h"
#include "sim_random.h"
#include "sim_work.h"

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

/// Busy, because a timer may come late by more than the guard is stopped for. Ends without it where the guard
/// is dormant, or gets no CPU.
static void await_stopped_guard(const sim_action_t *action)
{
  const ws_pool_t *pool = sim_pool[action->burst.pool];
  if (!pool || !pool->guarded)
    return;
  sim_thread_t *guard = sim_thread[pool->guard_thread - 1];
  const uint64_t last = ws_load_relaxed(&pool->count.guard_looks) + action->stops_look;
  const sim_ps_t until_ps = sim_self->now_ps + GUARD_WAIT_PS;
  while (ws_load_relaxed(&pool->count.guard_looks) + 1 < last && sim_self->now_ps < until_ps)
    sim_sleep_until(sim_self->now_ps + 100 * SIM_PS_PER_US);
  while (ws_load_relaxed(&pool->count.guard_looks) < last && sim_self->now_ps < until_ps)
    sim_work(2 * SIM_PS_PER_US);
  sim_fault_stall_later(guard, 1 + (uint32_t)sim_random_below(GUARD_STEPS),
                        GUARD_STOP_PS_MIN + (sim_ps_t)sim_random_below(GUARD_STOP_PS_MIN));
  while (!guard->stalled && sim_self->now_ps < until_ps)
    sim_work(2 * SIM_PS_PER_US);
}

void *sim_actor_thread(void *actor_arg)
{
  const sim_actor_t *actor = actor_arg;
  if (sim_scene->together && sim_self->now_ps < sim_together_ps)
    sim_work(sim_together_ps - sim_self->now_ps);
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
