// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.c
/// ws_prewake.h. What is learnt about bursts belongs to the pool (ws_rhythm.h). What is learnt about waking
/// belongs to the worker.
#include "ws_prewake.h"

#include <string.h>

#include "../pool/ws_near.h"
#include "../sleep/ws_park.h"
#include "ws_level.h"
#include "ws_rhythm.h"

/// A gap shorter than this is the next phase of the same slot, whatever the settings say.
#define CONTINUES_NS_MIN 2000u
/// Gaps that must have been seen before they decide how long to look after a burst.
#define FOLLOWS_MIN 8u
/// Below this share of bursts that come nobody gets up for a phase, whatever lead is asked for: they have
/// stopped.
#define OCCUPANCY_MIN (1. / 16)
/// Bursts between two trials: too rare for p99 to see, and prime, so that each phase has its turn.
#define TRIAL_EVERY 2039u
/// Share of the CPU cap that the wait before bursts may plan with; the rest is for looking after them.
#define PLANNED_SHARE 0.8

static ws_spin_t mode(const struct ws_pool_s *pool)
{
  return (ws_spin_t)ws_load_relaxed(&pool->spin); // relaxed: a setting
}

/// CPU time that it costs to have been asleep when work came.
static double miss_ns(const ws_worker_t *worker)
{
  const double call_ns = (double)ws_load_relaxed(&worker->pool->wake_call_ns); // relaxed: a statistic
  return (worker->pool->settings.spin_price + 1) * worker->rise.react_ns + call_ns;
}

void ws_prewake_quiet(struct ws_pool_s *pool)
{
  if (!ws_load_relaxed(&pool->quiet)) // relaxed: who misses it is seen by the worker that finds the task
    ws_store_relaxed(&pool->quiet, 1); // relaxed: as above
}

/// @return whether what comes at @p at_ns comes after a pause, and not only with the next phase of a slot
static bool is_pause(const struct ws_pool_s *pool, uint64_t at_ns)
{
  const uint64_t bound_ns = pool->settings.spin_ns_max;
  const uint64_t dry_ns = ws_load_relaxed(&pool->dry_ns); // relaxed: a time
  const uint64_t arrival_ns = ws_load_relaxed(&pool->arrival_ns); // relaxed: a time
  const uint64_t last_ns = dry_ns > arrival_ns ? dry_ns : arrival_ns;
  return at_ns >= last_ns + (bound_ns > CONTINUES_NS_MIN ? bound_ns : CONTINUES_NS_MIN);
}

void ws_prewake_arrived(struct ws_pool_s *pool, uint64_t now_ns)
{
  if (!ws_load_relaxed(&pool->quiet)) // relaxed: the exchange decides
    return;
  if (ws_xchg_acq_rel(&pool->quiet, 0) == 0) // [edge QUIET acq_rel] one of several says when
    return;
  const uint64_t at_ns = now_ns ? now_ns : ws_os_now_ns();
  if (!is_pause(pool, at_ns))
    return;
  // relaxed: a time, read after the burst
  ws_store_relaxed(&pool->arrival_ns, at_ns);
  ws_store_relaxed(&pool->takers_before, ws_load_relaxed(&pool->takers)); // relaxed: a statistic
  ws_store_relaxed(&pool->takers, 0); // relaxed: a statistic
}

/// What the last burst has shown about this worker's getting up.
static void learn(ws_worker_t *worker, const ws_outlook_t *outlook)
{
  ws_rise_t *rise = &worker->rise;
  const ws_arrived_t *arrived = &outlook->arrived;
  if (rise->burst == outlook->burst)
    return;
  rise->burst = outlook->burst;
  if (rise->locks != outlook->locks)
    memset(rise->lead, 0, sizeof(rise->lead)); // the phases are others now
  rise->locks = outlook->locks;
  const int64_t waking_ns = rise->waking_ns;
  const bool by_timer = rise->by_timer, in_time = rise->rose_ns <= outlook->seen_ns;
  rise->waking_ns = -1;
  rise->by_timer = false;
  if (by_timer) {
    ws_counters_t *count = &worker->queue.count;
    ws_count(in_time ? &count->hits : &count->lates, 1);
    ws_count(&count->unused, !rise->found);
  }
  // A sleep that took longer than a period says that the process was stopped, not how long it takes to wake.
  if (waking_ns >= 0 && arrived->phase >= 0 && (uint64_t)waking_ns < outlook->gap_ns)
    ws_lead_learn(&rise->lead[arrived->phase], waking_ns - arrived->late_ns, by_timer, rise->found, in_time);
}

/// What the CPU does between the timer and the worker's first instruction, or the call and that, is its own
/// time: where timers take longer than calls it costs more.
static double rise_cost_ns(const ws_rise_t *rise)
{
  const double more_ns = (double)ws_window_quantile(&rise->timed, 500) - rise->react_ns;
  return rise->timed.count > 0 && more_ns > 0 ? more_ns : 0;
}

/// Would it pay to get up for this phase? Keep the earliest time at which it does.
static void consider(ws_worker_t *worker, const ws_outlook_t *outlook, uint32_t phase, uint64_t now_ns,
                     ws_plan_t *plan)
{
  struct ws_pool_s *pool = worker->pool;
  ws_lead_t *lead = &worker->rise.lead[phase];
  if (lead->early.count < WS_LEAD_SAMPLES_MIN)
    return;
  const double share = ws_load_relaxed(&pool->spin_cpu_max_percent) / 100.; // relaxed: a setting
  const ws_lead_case_t how = {
      .price = pool->settings.spin_price,
      .occupancy = outlook->phase[phase].occupancy,
      .late = &outlook->phase[phase].late,
      .react_ns = worker->rise.react_ns,
      .rise_ns = rise_cost_ns(&worker->rise),
      .call_ns = (double)ws_load_relaxed(&pool->wake_call_ns), // relaxed: a statistic
      .spin_ns_max = PLANNED_SHARE * share * (double)outlook->gap_ns,
  };
  const bool fixed = mode(pool) == WS_SPIN_FIXED;
  if (fixed && how.occupancy < OCCUPANCY_MIN)
    return;
  const int64_t fixed_ns = (int64_t)ws_load_relaxed(&pool->spin_lead_ns); // relaxed: a setting
  const ws_lead_choice_t choice = fixed ? ws_lead_judge(lead, &how, fixed_ns) : ws_lead_choose(lead, &how);
  if (!fixed && !ws_lead_gate(lead, &choice))
    return;
  // It gets up once for each time that the burst is expected.
  const uint64_t risen_ns = lead->risen_ns + (uint64_t)(outlook->period_ns / 2);
  const uint64_t expected_ns = ws_rhythm_next(outlook, phase, now_ns > risen_ns ? now_ns : risen_ns);
  const uint64_t rise_ns = (uint64_t)((int64_t)expected_ns - choice.lead_ns);
  if (plan->rise_ns != 0 && rise_ns >= plan->rise_ns)
    return;
  const uint64_t give_up_ns = (uint64_t)((int64_t)expected_ns + choice.wait_ns);
  *plan = (ws_plan_t){.rise_ns = rise_ns,
                      .give_up_ns = give_up_ns,
                      .expected_ns = expected_ns,
                      .phase = (int32_t)phase};
}

/// Somebody has said when the next burst comes.
static void consider_hint(ws_worker_t *worker, uint64_t now_ns, ws_plan_t *plan)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t expected_ns = ws_load_relaxed(&pool->expected_ns); // relaxed: a hint
  if (expected_ns <= now_ns || expected_ns == worker->rise.hinted_ns)
    return; // over, or it has got up for it already
  const ws_rise_t *rise = &worker->rise;
  const ws_window_t *waking = rise->timed.count > 0 ? &rise->timed : &rise->pushed;
  const int64_t lead_ns = ws_window_quantile(waking, ws_lead_permille(pool->settings.spin_price));
  const uint64_t rise_ns = (uint64_t)((int64_t)expected_ns - lead_ns);
  if (plan->rise_ns != 0 && rise_ns >= plan->rise_ns)
    return;
  // A hint is believed for as long as a wake would cost.
  *plan = (ws_plan_t){.rise_ns = rise_ns,
                      .give_up_ns = expected_ns + (uint64_t)miss_ns(worker),
                      .expected_ns = expected_ns,
                      .phase = -1};
}

/// @return when to get up next, rise_ns = 0: not at all
static ws_plan_t choose(ws_worker_t *worker, const ws_outlook_t *outlook, uint64_t now_ns)
{
  struct ws_pool_s *pool = worker->pool;
  ws_plan_t plan = {0};
  const bool learns = mode(pool) == WS_SPIN_AUTO || mode(pool) == WS_SPIN_FIXED;
  if (learns && ws_load_relaxed(&pool->level) == WS_LEVEL_TOP) // relaxed: a preference
    for (uint32_t i = 0; i < outlook->phases; i++)
      consider(worker, outlook, i, now_ns, &plan);
  consider_hint(worker, now_ns, &plan);
  return plan;
}

/// @return until when to look for what follows the work that was just done
static uint64_t look_until(ws_worker_t *worker, uint64_t now_ns)
{
  const struct ws_pool_s *pool = worker->pool;
  const int64_t bound_ns = (int64_t)pool->settings.spin_ns_max;
  if (ws_load_relaxed(&pool->level) == 0) // relaxed: a preference
    return now_ns;
  const ws_window_t *follows = ws_rise_follows(&worker->rise);
  int64_t wait_ns = bound_ns;
  if (follows->count >= FOLLOWS_MIN) {
    wait_ns = ws_window_best_wait(follows, 0, bound_ns, 0, (int64_t)miss_ns(worker));
    wait_ns += wait_ns / 8; // the longest of a few samples is not the longest possible
  }
  return now_ns + (uint64_t)wait_ns;
}

void ws_prewake_dry(ws_worker_t *worker, uint64_t now_ns)
{
  struct ws_pool_s *pool = worker->pool;
  ws_rise_t *rise = &worker->rise;
  const uint64_t arrival_ns = ws_load_relaxed(&pool->arrival_ns); // relaxed: a time
  rise->found = true;
  // The same burst goes on where nothing new has come: tiny tasks run a worker dry over and over.
  if (arrival_ns != rise->heard_ns) {
    ws_outlook_t outlook;
    ws_rhythm_hear(pool, now_ns);
    if (ws_rhythm_read(pool, false, &outlook)) {
      learn(worker, &outlook);
      rise->heard_ns = outlook.seen_ns;
    }
  }
  ws_store_relaxed(&pool->dry_ns, now_ns); // relaxed: a time; after what came before it was heard
  rise->look_until_ns = look_until(worker, now_ns);
}

/// @return how many workers such a burst needs: who gets up beyond them finds nothing, though each of them
/// finds something now and then
static uint32_t needed(const struct ws_pool_s *pool, const ws_outlook_t *outlook, const ws_plan_t *plan)
{
  const uint32_t takers = plan->phase >= 0 && plan->rise_ns != 0 ? outlook->phase[plan->phase].takers : 0;
  return takers > 0 ? takers : pool->workers;
}

/// Count one more, if there are fewer than @p limit.
static bool count_below(ws_au32_t *counter, uint32_t limit)
{
  if (ws_add_relaxed(counter, 1) < limit) // relaxed: a preference
    return true;
  ws_add_relaxed(counter, 0u - 1); // relaxed: a preference
  return false;
}

/// @return whether the plan may be followed: no more get up by themselves than may be awake, or are needed,
/// and those near the producer first
static bool arm(ws_worker_t *worker, uint32_t needed)
{
  struct ws_pool_s *pool = worker->pool;
  const uint32_t most = ws_awake_limit(pool), limit = most < needed ? most : needed;
  const bool is_far = !ws_near_is(pool, worker);
  const uint32_t near = is_far ? ws_near_count(pool) : 0;
  if (is_far && (limit <= near || !count_below(&pool->armed_far, limit - near)))
    return false;
  const bool armed = count_below(&pool->armed, limit);
  if (is_far && !armed)
    ws_add_relaxed(&pool->armed_far, 0u - 1); // relaxed: a preference
  worker->rise.is_far = is_far && armed;
  return armed;
}

/// Once in a while it lets a push wake it, or it would never learn that this has become cheap.
static bool is_trial(ws_worker_t *worker, const ws_plan_t *plan)
{
  return plan->phase >= 0 && mode(worker->pool) == WS_SPIN_AUTO && ++worker->rise.rises % TRIAL_EVERY == 0;
}

uint64_t ws_prewake_plan(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  ws_rise_t *rise = &worker->rise;
  ws_outlook_t outlook = {0};
  rise->slept_ns = ws_os_now_ns();
  rise->called_ns = 0;
  if (pool->cpus > 1) {
    ws_rhythm_hear(pool, rise->slept_ns);
    if (ws_rhythm_read(pool, true, &outlook))
      learn(worker, &outlook);
  }
  ws_plan_t plan = choose(worker, &outlook, rise->slept_ns);
  const uint32_t most = needed(pool, &outlook, &plan);
  ws_count(&worker->queue.count.misses, rise->by_timer); // learn has not seen a burst for it
  rise->by_timer = false;
  rise->waking_ns = -1;
  if (plan.rise_ns != 0 && ws_level_forecast(worker, plan.rise_ns) <= 0)
    plan.rise_ns = 0; // it could not look when it is up
  if (plan.rise_ns != 0 && (is_trial(worker, &plan) || !arm(worker, most)))
    plan.rise_ns = 0;
  rise->plan = plan;
  ws_store_relaxed(&rise->alarm_ns, plan.rise_ns); // relaxed: published with the worker's bit
  ws_prewake_quiet(pool);
  return plan.rise_ns;
}

void ws_prewake_disarm(ws_worker_t *worker)
{
  if (ws_load_relaxed(&worker->rise.alarm_ns) == 0) // relaxed: only the worker writes it
    return;
  ws_store_relaxed(&worker->rise.alarm_ns, 0); // relaxed: a preference of those who wake
  ws_add_relaxed(&worker->pool->armed, 0u - 1); // relaxed: a preference
  if (WS_UNLIKELY(worker->rise.is_far))
    ws_add_relaxed(&worker->pool->armed_far, 0u - 1); // relaxed: a preference
  worker->rise.is_far = false;
}

bool ws_prewake_may_rise(ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  return ws_may_spin_beside(pool, 1) && ws_working(pool) < ws_awake_limit(pool);
}

/// @return class of a time asleep, see WS_WAKE_GAPS
static uint32_t gap_class(uint64_t gap_ns)
{
  uint32_t class = 0;
  for (uint64_t bound_ns = 250000; gap_ns >= bound_ns && class < WS_WAKE_GAPS - 1; bound_ns *= 4)
    class++;
  return class;
}

static void note_rise(ws_rise_t *rise)
{
  const ws_plan_t *plan = &rise->plan;
  ws_histogram_add(&rise->leads, plan->expected_ns > plan->rise_ns ? plan->expected_ns - plan->rise_ns : 0);
  if (plan->phase >= 0)
    rise->lead[plan->phase].risen_ns = plan->expected_ns;
  else
    rise->hinted_ns = plan->expected_ns;
}

bool ws_prewake_is_rising(const ws_worker_t *worker, uint64_t now_ns)
{
  const uint64_t alarm_ns = ws_load_relaxed(&worker->rise.alarm_ns); // relaxed: the caller owns the claim
  return alarm_ns != 0 && alarm_ns <= now_ns;
}

void ws_prewake_woken(ws_worker_t *worker, ws_wake_by_t by)
{
  ws_rise_t *rise = &worker->rise;
  if (rise->called_ns != 0 && ws_prewake_is_rising(worker, rise->called_ns))
    by = WS_WAKE_TIMER; // the push came while it was on its way
  const uint64_t from_ns = by == WS_WAKE_TIMER ? rise->plan.rise_ns : rise->called_ns;
  rise->rose_ns = ws_os_now_ns();
  rise->found = false;
  rise->by_timer = by == WS_WAKE_TIMER;
  rise->look_until_ns = rise->by_timer ? rise->plan.give_up_ns : rise->rose_ns;
  ws_prewake_disarm(worker);
  if (from_ns == 0)
    return; // it found work before it slept
  const uint64_t slept_ns = rise->rose_ns - rise->slept_ns;
  const int64_t waking_ns = rise->rose_ns > from_ns ? (int64_t)(rise->rose_ns - from_ns) : 0;
  if (rise->by_timer)
    note_rise(rise);
  if (from_ns <= rise->slept_ns)
    return; // there was no time to sleep
  ws_histogram_add(&rise->woken[by][gap_class(slept_ns)], (uint64_t)waking_ns);
  if (!rise->by_timer && slept_ns < ws_load_relaxed(&worker->pool->sleep_ns_min)) // relaxed: a statistic
    return; // its CPU was still warm: the next burst will not find it so
  rise->waking_ns = waking_ns;
  ws_window_add(rise->by_timer ? &rise->timed : &rise->pushed, waking_ns);
  if (rise->by_timer)
    return;
  // The median: while it gets up by itself, pushes wake it on rare occasions only, when something was wrong.
  rise->react_ns = (double)ws_window_quantile(&rise->pushed, 500);
  ws_store_relaxed(&worker->pool->waking_ns, (uint64_t)rise->react_ns); // relaxed: a statistic
}
