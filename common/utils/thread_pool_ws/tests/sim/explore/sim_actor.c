// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_actor.c
/// Threads outside that push: what one does from its first action to its last.
#include "sim_play.h"
#include "sim_work.h"

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

void *sim_actor_thread(void *actor_arg)
{
  const sim_actor_t *actor = actor_arg;
  if (sim_scene->together && sim_self->now_ps < sim_together_ps)
    sim_work(sim_together_ps - sim_self->now_ps);
  else
    sim_sleep_until(sim_self->now_ps + (sim_ps_t)(actor->start_us * 1e6));
  for (uint32_t i = 0; i < actor->actions; i++) {
    const sim_action_t *action = &actor->action[i];
    if (action->pause_us > 0)
      sim_sleep_until(sim_self->now_ps + (sim_ps_t)(action->pause_us * 1e6));
    if (!action->sets_spin)
      burst_action(&action->burst);
    else if (sim_pool[action->burst.pool])
      ws_pool_set_spin(sim_pool[action->burst.pool], action->spin, 20000);
  }
  return NULL;
}
