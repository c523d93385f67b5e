// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_plan.c
/// Which burst should a worker's timer wake it for, when, and may it? The leads, the plan of a worker that
/// goes to sleep, and the timers that are set.
///
/// A lead is the time from the timer to the expected burst. The worker runs W after the timer, and the burst
/// comes J after the expected time. The worker is late by (W - J) - lead, or spins without work for
/// lead - (W - J). So with X = W - J and p = settings.spin_price
///   cost(lead) = p * E max(0, X - lead) + E max(0, lead - X)
/// which is least at the p / (p + 1) quantile of X: the newsvendor's rule (Arrow, Harris and Marschak 1951).
/// X is observed after every burst and does not depend on the lead, so the choice cannot oscillate.
#include "../pool/ws_near.h"
#include "../sleep/ws_budget.h"
#include "../sleep/ws_cap.h"
#include "ws_prewake_state.h"

/// Consecutive decisions against a timer wake after which the worker tries one all the same. Prime, so that
/// in a pattern of several bursts each phase is tried.
#define TRIAL_EVERY 61u
/// Step by which a lead that costs too much is shortened, in quantiles of X.
#define STEP_PERMILLE 150u
/// Two threads need so long for a burst of any kind, because tasks and completions move between their caches.
#define TOGETHER_NS 2000.
/// Below this share of bursts that come, a fixed lead sets no timer for a phase: the bursts have stopped. In
/// the other mode the gate finds that out.
#define OCCUPANCY_MIN (1. / 16)

/// What the lead @p lead_ns brings: how long to wait for the burst, cost and gain.
static ws_lead_choice_t judge(const ws_lead_t *lead, const ws_lead_case_t *how, int64_t lead_ns)
{
  const double present = how->occupancy, absent = 1 - present;
  const double absences = absent / (present > 0.01 ? present : 0.01); // absences for each arrival
  ws_lead_choice_t choice = {.lead_ns = lead_ns};
  // A worker that gives up is as late as without a timer wake, and has to be woken once more.
  const int64_t miss_ns = (int64_t)((how->price + 1) * how->react_ns + how->call_ns);
  choice.wait_ns = ws_window_best_wait(how->errors, -lead_ns, INT32_MAX, absences, miss_ns);
  choice.wait_ns += (choice.wait_ns + lead_ns) / 16; // a look takes time
  // A burst that is later than all remembered ones is more likely than one that does not come at all. So it
  // is worth waiting for it as long as a wake costs (Karlin et al., SODA 1990).
  if (absences * (how->errors->count + 1) < 1 && choice.wait_ns < miss_ns)
    choice.wait_ns = miss_ns;
  // If the timer fires later than a push would have woken the worker, the timer neither helps nor hurts: what
  // delayed the timer by milliseconds would have delayed the push's wake, too.
  const int64_t react_ns = (int64_t)how->react_ns;
  const double in_time_ns = how->react_ns - (double)ws_window_above(&lead->early, lead_ns, react_ns);
  const double reached = ws_window_reached(how->errors, choice.wait_ns);
  // If a burst is over before a woken worker runs, a worker that is awake saves its length at most.
  const bool is_short = how->length_ns > 0 && how->length_ns < in_time_ns;
  const double short_ns = how->length_ns > TOGETHER_NS ? how->length_ns - TOGETHER_NS : 0;
  const double saved_ns = is_short ? short_ns : in_time_ns;
  const double useful = lead->useful * present * reached * saved_ns;
  const double present_ns = (double)ws_window_below(&lead->early, lead_ns) + (1 - reached) * how->react_ns;
  const double absent_ns = (double)(lead_ns + choice.wait_ns) + how->react_ns;
  choice.cost_ns = present * present_ns + absent * absent_ns;
  choice.gain_ns = how->price * useful - choice.cost_ns + present * reached * how->call_ns;
  return choice;
}

ws_lead_choice_t ws_lead_choose(const ws_lead_t *lead, const ws_lead_case_t *how)
{
  uint32_t permille = ws_lead_permille(how->price) + STEP_PERMILLE;
  ws_lead_choice_t choice;
  do {
    permille -= STEP_PERMILLE;
    choice = judge(lead, how, ws_window_quantile(&lead->early, permille));
  } while (choice.cost_ns > how->spin_ns_max && permille > STEP_PERMILLE);
  if (choice.cost_ns > how->spin_ns_max)
    choice.gain_ns = -choice.cost_ns; // even the shortest costs too much: a timer wake now and then, to try
  return choice;
}

void ws_lead_learn(ws_lead_t *lead, int64_t early_ns, bool by_timer, bool found, bool in_time)
{
  if (lead->early.count == 0)
    lead->useful = 1; // not known yet: try it
  if (by_timer || !lead->timed || lead->early.count < WS_LEAD_SAMPLES_MIN)
    ws_window_add(&lead->early, early_ns);
  lead->timed = lead->timed || by_timer;
  if (found || in_time)
    ws_mean_follow(&lead->useful, found);
}

bool ws_lead_gate(ws_lead_t *lead, const ws_lead_choice_t *choice)
{
  const double inertia_ns = choice->cost_ns / 8;
  lead->open = choice->gain_ns > (lead->open ? -inertia_ns : inertia_ns);
  if (lead->open) {
    lead->shut = 0;
    return true;
  }
  // The gate may have been shut by a bad minute in which timers were late. With the gate shut nothing would
  // show that the minute is over. So the samples of pushes are learnt from again, and now and then the worker
  // tries a timer wake.
  lead->timed = false;
  return ++lead->shut % TRIAL_EVERY == 0;
}

double ws_miss_ns(const ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  return (pool->settings.spin_price + 1) * worker->prewake->react_ns + (double)ws_call_ns(pool);
}

/// A timer wake for this phase, if it is worth its cost, or, with a fixed lead, as long as the burst comes;
/// else rise_ns is 0.
static ws_plan_t plan_phase(ws_worker_t *worker, const ws_outlook_t *outlook, uint32_t index)
{
  struct ws_pool_s *pool = worker->pool;
  const ws_outlook_phase_t *phase = &outlook->phase[index];
  ws_lead_t *lead = &worker->prewake->lead[index];
  const bool fixed = ws_spin_mode(pool) == WS_SPIN_FIXED;
  if (lead->early.count < WS_LEAD_SAMPLES_MIN || (fixed && phase->occupancy < OCCUPANCY_MIN))
    return (ws_plan_t){0};
  const ws_lead_case_t how = {
      .price = pool->settings.spin_price,
      .occupancy = phase->occupancy,
      .errors = &phase->errors,
      .react_ns = worker->prewake->react_ns,
      .length_ns = (double)ws_window_quantile(&lead->length, 500),
      .call_ns = (double)ws_call_ns(pool),
      .spin_ns_max = ws_spin_percent(pool) / 100. * (double)outlook->gap_ns,
  };
  const int64_t fixed_ns = (int64_t)ws_spin_lead_ns(pool);
  const ws_lead_choice_t choice = fixed ? judge(lead, &how, fixed_ns) : ws_lead_choose(lead, &how);
  if (!fixed && !ws_lead_gate(lead, &choice))
    return (ws_plan_t){0};
  // One timer wake for each time that the burst is expected.
  const uint64_t from_ns = lead->timed_ns + (uint64_t)(outlook->period_ns / 2);
  const uint64_t slept_ns = worker->prewake->slept_ns;
  const uint64_t after_ns = slept_ns > from_ns ? slept_ns : from_ns;
  const double over_ns = (double)after_ns - phase->next_ns;
  const double periods = over_ns < 0 ? 0 : (double)(uint64_t)(over_ns / phase->period_ns) + 1;
  const int64_t expected_ns = (int64_t)(phase->next_ns + periods * phase->period_ns);
  return (ws_plan_t){.rise_ns = (uint64_t)(expected_ns - choice.lead_ns),
                     .give_up_ns = (uint64_t)(expected_ns + choice.wait_ns),
                     .expected_ns = (uint64_t)expected_ns,
                     .phase = (int32_t)index};
}

/// A timer wake for the burst whose time a hint has given, if there is one; else rise_ns is 0.
static ws_plan_t plan_hint(const ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  const ws_prewake_worker_t *prewake = worker->prewake;
  const uint64_t expected_ns = ws_hint_load(&pool->prewake->expected_ns);
  if (expected_ns <= prewake->slept_ns || expected_ns == prewake->hinted_ns)
    return (ws_plan_t){0}; // over, or the worker has woken for it already
  const ws_window_t *waking =
      &prewake->wakes[prewake->wakes[WS_WAKE_TIMER].count > 0 ? WS_WAKE_TIMER : WS_WAKE_PUSH];
  const int64_t lead_ns = ws_window_quantile(waking, ws_lead_permille(pool->settings.spin_price));
  return (ws_plan_t){.rise_ns = (uint64_t)((int64_t)expected_ns - lead_ns),
                     // it waits as long as a wake would cost
                     .give_up_ns = expected_ns + (uint64_t)ws_miss_ns(worker),
                     .expected_ns = expected_ns,
                     .phase = -1};
}

/// @return whether the worker may set its timer, and is counted in armed: no more are set than workers may be
///         awake or are needed
static bool arm(const struct ws_pool_s *pool, uint32_t needed)
{
  const uint32_t most = ws_awake_limit(pool);
  if (ws_hint_add(&pool->prewake->armed, 1) < (most < needed ? most : needed))
    return true;
  ws_hint_add(&pool->prewake->armed, 0u - 1);
  return false;
}

/// May the worker have the timer of @p plan? If so it is counted in armed until ws_prewake_disarm().
static bool set(ws_worker_t *worker, const ws_outlook_t *outlook, const ws_plan_t *plan)
{
  const struct ws_pool_s *pool = worker->pool;
  if (plan->rise_ns == 0 || ws_spin_forecast(worker, plan->rise_ns) <= 0 // no CPU time left to spin
      || ws_near_stops_producer(worker)) // its only CPU is the producer's
    return false;
  // With more workers than the burst needs, some would usually find no task.
  const uint32_t takers = plan->phase >= 0 ? outlook->phase[plan->phase].takers : 0;
  return arm(pool, takers > 0 ? takers : pool->workers);
}

ws_plan_t ws_plan_choose(ws_worker_t *worker, const ws_outlook_t *outlook)
{
  ws_prewake_pool_t *shared = worker->pool->prewake;
  const ws_spin_t mode = ws_spin_mode(worker->pool);
  const bool learns = mode == WS_SPIN_AUTO || mode == WS_SPIN_FIXED;
  ws_plan_t plan = plan_hint(worker);
  for (uint32_t i = 0; i < outlook->phases && learns && ws_hint_load(&shared->lowered) == 0; i++) {
    const ws_plan_t other = plan_phase(worker, outlook, i);
    if (other.rise_ns != 0 && (plan.rise_ns == 0 || other.rise_ns < plan.rise_ns))
      plan = other;
  }
  if (!set(worker, outlook, &plan))
    plan.rise_ns = 0;
  return plan;
}
