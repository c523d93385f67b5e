// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_plan.c
/// ws_plan.h.
#include "ws_plan.h"

/// Below this share of bursts that come, no timer is set for a phase, whatever the mode: the bursts have
/// stopped.
#define OCCUPANCY_MIN (1. / 16)

double ws_miss_ns(const ws_worker_t *worker)
{
  const double call_ns = (double)ws_stat_load(&worker->pool->wake_call_ns);
  return (worker->pool->settings.spin_price + 1) * worker->react_ns + call_ns;
}

/// CPU time from the timer, or from the call, to the worker's first instruction. Where timers take longer
/// than calls, a timer wake costs more.
static double rise_cost_ns(const ws_worker_t *worker)
{
  const ws_window_t *timed = &worker->prewake->timed;
  const double more_ns = (double)ws_window_quantile(timed, 500) - worker->react_ns;
  return timed->count > 0 && more_ns > 0 ? more_ns : 0;
}

/// Is a timer wake for this phase worth its cost? Keep the earliest such wake.
static void consider(ws_worker_t *worker, const ws_outlook_t *outlook, uint32_t phase, uint64_t now_ns,
                     ws_plan_t *plan)
{
  struct ws_pool_s *pool = worker->pool;
  ws_lead_t *lead = &worker->prewake->lead[phase];
  if (lead->early.count < WS_LEAD_SAMPLES_MIN)
    return;
  const double share = ws_hint_load(&pool->spin_cpu_max_percent) / 100.;
  const ws_lead_case_t how = {
      .price = pool->settings.spin_price,
      .occupancy = outlook->phase[phase].occupancy,
      .late = &outlook->phase[phase].late,
      .react_ns = worker->react_ns,
      .length_ns = (double)ws_window_quantile(&lead->length, 500),
      .rise_ns = rise_cost_ns(worker),
      .call_ns = (double)ws_stat_load(&pool->wake_call_ns),
      .spin_ns_max = share * (double)outlook->gap_ns,
  };
  const bool fixed = ws_spin_mode(pool) == WS_SPIN_FIXED;
  if (fixed && how.occupancy < OCCUPANCY_MIN)
    return;
  const int64_t fixed_ns = (int64_t)ws_hint_load(&pool->spin_lead_ns);
  const ws_lead_choice_t choice = fixed ? ws_lead_judge(lead, &how, fixed_ns) : ws_lead_choose(lead, &how);
  if (!fixed && !ws_lead_gate(lead, &choice))
    return;
  // One timer wake for each time that the burst is expected.
  const uint64_t risen_ns = lead->risen_ns + (uint64_t)(outlook->period_ns / 2);
  const uint64_t expected_ns = ws_rhythm_next(outlook, phase, now_ns > risen_ns ? now_ns : risen_ns);
  const uint64_t rise_ns = (uint64_t)((int64_t)expected_ns - choice.lead_ns);
  if (plan->rise_ns != 0 && rise_ns >= plan->rise_ns)
    return;
  const uint64_t give_up_ns = (uint64_t)((int64_t)expected_ns + choice.wait_ns);
  *plan = (ws_plan_t){.rise_ns = rise_ns,
                      .give_up_ns = give_up_ns,
                      .expected_ns = expected_ns,
                      .phase = (int32_t)phase,
                      .late_ns_max = ws_window_quantile(how.late, 1000),
                      .tries = !fixed && !lead->open};
}

/// A hint has given the time of the next burst.
static void consider_hint(ws_worker_t *worker, uint64_t now_ns, ws_plan_t *plan)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t expected_ns = ws_hint_load(&pool->expected_ns);
  if (expected_ns <= now_ns || expected_ns == worker->prewake->hinted_ns)
    return; // over, or the worker has woken for it already
  const ws_prewake_worker_t *its = worker->prewake;
  const ws_window_t *waking = its->timed.count > 0 ? &its->timed : &its->pushed;
  const int64_t lead_ns = ws_window_quantile(waking, ws_lead_permille(pool->settings.spin_price));
  const uint64_t rise_ns = (uint64_t)((int64_t)expected_ns - lead_ns);
  if (plan->rise_ns != 0 && rise_ns >= plan->rise_ns)
    return;
  // The worker waits for the hinted burst for as long as a wake would cost.
  *plan = (ws_plan_t){.rise_ns = rise_ns,
                      .give_up_ns = expected_ns + (uint64_t)ws_miss_ns(worker),
                      .expected_ns = expected_ns,
                      .phase = -1,
                      .late_ns_max = (int64_t)ws_miss_ns(worker)};
}

ws_plan_t ws_plan_choose(ws_worker_t *worker, const ws_outlook_t *outlook, uint64_t now_ns)
{
  struct ws_pool_s *pool = worker->pool;
  ws_plan_t plan = {0};
  const bool learns = ws_spin_mode(pool) == WS_SPIN_AUTO || ws_spin_mode(pool) == WS_SPIN_FIXED;
  if (learns && ws_hint_load(&pool->prewake->level) == WS_LEVEL_TOP)
    for (uint32_t i = 0; i < outlook->phases; i++)
      consider(worker, outlook, i, now_ns, &plan);
  consider_hint(worker, now_ns, &plan);
  return plan;
}

uint32_t ws_plan_needed(const struct ws_pool_s *pool, const ws_outlook_t *outlook, const ws_plan_t *plan)
{
  const uint32_t takers = plan->phase >= 0 && plan->rise_ns != 0 ? outlook->phase[plan->phase].takers : 0;
  return takers > 0 ? takers : pool->workers;
}
