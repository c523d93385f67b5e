// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.c
/// ws_prewake.h: the events. The pool keeps what it learns about bursts (ws_rhythm.h). Each worker keeps its
/// own wake latencies. ws_plan.h decides when a worker wakes.
#include "ws_prewake.h"

#include <string.h>

#include "../pool/ws_near.h"
#include "../sleep/ws_budget.h"
#include "../trace/ws_traced.h"
#include "ws_plan.h"
#include "ws_prewake_state.h"
#include "ws_rhythm.h"

/// A gap shorter than this is the next phase of the same slot, whatever the settings say.
#define CONTINUES_NS_MIN 2000u
/// Gaps that must have been seen before they decide how long to spin after a burst.
#define FOLLOWS_MIN 8u
/// Plans without a timer wake after which pre-wake has nothing to learn from wakes any more: longer than a
/// pattern takes to be known.
#define UNPLANNED_MIN 128u

size_t ws_prewake_pool_bytes(void)
{
  return sizeof(ws_prewake_pool_t);
}

size_t ws_prewake_worker_bytes(void)
{
  return sizeof(ws_prewake_worker_t);
}

void ws_prewake_begin(struct ws_pool_s *pool)
{
  ws_init_store(&pool->prewake->level, WS_LEVEL_TOP);
}

void ws_prewake_quiet(struct ws_pool_s *pool)
{
  if (!ws_hint_load(&pool->quiet)) // a missed one is seen by the worker that finds the task
    ws_hint_store(&pool->quiet, 1);
}

/// @return from when on what comes comes after a pause, and not only with the next phase of a slot
static uint64_t pause_ns(const struct ws_pool_s *pool)
{
  const uint64_t bound_ns = pool->settings.spin_ns_max;
  const ws_prewake_pool_t *its = pool->prewake;
  const uint64_t out_of_work_ns = ws_hint_load(&its->out_of_work_ns);
  const uint64_t arrival_ns = ws_hint_load(&its->arrival_ns);
  const uint64_t last_ns = out_of_work_ns > arrival_ns ? out_of_work_ns : arrival_ns;
  return last_ns + (bound_ns > CONTINUES_NS_MIN ? bound_ns : CONTINUES_NS_MIN);
}

uint64_t ws_prewake_idle(struct ws_pool_s *pool, uint64_t now_ns)
{
  const uint64_t from_ns = pause_ns(pool);
  if (now_ns < from_ns)
    return from_ns;
  ws_prewake_quiet(pool);
  return UINT64_MAX;
}

static void note_arrival(struct ws_pool_s *pool, uint64_t at_ns)
{
  ws_prewake_pool_t *its = pool->prewake;
  if (at_ns < pause_ns(pool))
    return;
  ws_hint_store(&its->arrival_ns, at_ns); // read after the burst
  ws_stat_store(&its->starters, 0);
}

/// @return whether a hint has announced what comes at @p at_ns, and no task was run since
static bool is_announced(const ws_prewake_pool_t *its, uint64_t at_ns)
{
  return at_ns <= ws_hint_load(&its->announced_until_ns)
         && ws_hint_load(&its->out_of_work_ns) <= ws_hint_load(&its->announced_ns);
}

void ws_prewake_arrived(struct ws_pool_s *pool, uint64_t now_ns)
{
  if (!ws_hint_load(&pool->quiet)) // the exchange decides
    return;
  if (ws_xchg_acq_rel(&pool->quiet, 0) == 0) // [edge QUIET acq_rel] one of several notes the time
    return;
  const uint64_t at_ns = now_ns ? now_ns : ws_os_now_ns();
  const bool announced = is_announced(pool->prewake, at_ns);
  ws_hint_store(&pool->prewake->announced_until_ns, 0);
  if (!announced)
    note_arrival(pool, at_ns);
}

void ws_prewake_announced(struct ws_pool_s *pool, uint64_t now_ns, uint64_t until_ns)
{
  ws_prewake_pool_t *its = pool->prewake;
  if (!ws_hint_load(&pool->quiet))
    return;
  if (!is_announced(its, now_ns)) { // else the same burst is announced again
    note_arrival(pool, now_ns);
    ws_hint_store(&its->announced_ns, now_ns);
  }
  ws_hint_store(&its->announced_until_ns, until_ns);
}

/// The worker is the first that has found a task of a burst: if that is late, count why.
static void note_start(ws_worker_t *worker, uint64_t found_ns)
{
  const struct ws_pool_s *pool = worker->pool;
  ws_prewake_pool_t *its = pool->prewake;
  const ws_prewake_worker_t *own = worker->prewake;
  const uint64_t arrival_ns = ws_hint_load(&its->arrival_ns), before_ns = ws_stat_load(&its->late.last_ns);
  ws_stat_store(&its->late.last_ns, arrival_ns);
  if (arrival_ns == before_ns || found_ns < arrival_ns || !ws_late_note(&its->late, found_ns - arrival_ns))
    return;
  const uint32_t bursts = ws_stat_load(&its->period_bursts);
  const ws_late_facts_t facts = {
      .arrival_ns = arrival_ns,
      .found_ns = found_ns,
      .slept_ns = worker->slept_ns,
      .rose_ns = worker->rose_ns,
      .called_ns = worker->called_ns,
      .by_timer = own->by_timer,
      .beside = ws_hint_load(&pool->producer_cpu) == (uint32_t)(ws_os_cpu() + 1),
      .plan = own->plan,
      .gave_up = own->gave_up,
      .unset = own->unset,
      .gap_ns = before_ns != 0 ? arrival_ns - before_ns : 0,
      .usual_gap_ns = bursts > 0 ? ws_stat_load(&its->period_ns) / bursts : 0,
  };
  const ws_late_t cause = ws_late_cause(&facts);
  ws_stat_add(&its->late.by[cause], 1);
  ws_traced_late(worker, cause, found_ns - arrival_ns);
}

/// The worker has found a task of a burst. ws_rhythm.c counts these workers after the burst. If each worker
/// changed a common counter here, the workers of a wide pool would wait for each other.
static void note_taken(ws_worker_t *worker, uint64_t now_ns)
{
  ws_prewake_pool_t *pools = worker->pool->prewake;
  ws_prewake_worker_t *its = worker->prewake;
  const uint64_t arrival_ns = ws_hint_load(&pools->arrival_ns);
  ws_stat_store(&its->taken_before.arrival_ns, ws_stat_load(&its->taken.arrival_ns));
  ws_stat_store(&its->taken_before.tasks, ws_stat_load(&its->taken.tasks));
  ws_stat_store(&its->taken.arrival_ns, arrival_ns);
  ws_stat_store(&its->taken.tasks, 1);
  if (ws_stat_load(&pools->late.last_ns) != arrival_ns && ws_stat_add(&pools->starters, 1) == 0)
    note_start(worker, now_ns);
}

void ws_prewake_found(ws_worker_t *worker, uint64_t now_ns, uint64_t gap_ns)
{
  ws_prewake_worker_t *its = worker->prewake;
  ws_prewake_arrived(worker->pool, now_ns); // if the push has not noted it
  ws_window_add(ws_follows(its), (int64_t)gap_ns);
  const bool paused = gap_ns > worker->pool->settings.spin_ns_max;
  its->follow = paused ? 0 : its->follow + 1;
  if (paused)
    note_taken(worker, now_ns);
  its->gave_up.rise_ns = 0;
}

void ws_prewake_took_more(ws_worker_t *worker)
{
  ws_au32_t *tasks = &worker->prewake->taken.tasks;
  ws_stat_store(tasks, ws_stat_load(tasks) + 1);
}

/// Learn from the last burst how well this worker's wake was timed.
static void learn(ws_worker_t *worker, const ws_outlook_t *outlook)
{
  ws_prewake_worker_t *its = worker->prewake;
  const ws_arrived_t *arrived = &outlook->arrived;
  if (its->burst == outlook->burst)
    return;
  its->burst = outlook->burst;
  if (its->locks != outlook->locks)
    memset(its->lead, 0, sizeof(its->lead)); // the phases are of another pattern now
  its->locks = outlook->locks;
  const int64_t waking_ns = its->waking_ns;
  const bool by_timer = its->by_timer, in_time = worker->rose_ns <= outlook->seen_ns;
  its->waking_ns = -1;
  its->by_timer = false;
  if (by_timer) {
    ws_counters_t *count = &worker->queue.count;
    ws_count(in_time ? &count->hits : &count->lates, 1);
    ws_count(&count->unused, !its->found);
  }
  // A wake that took longer than a period shows that the process was stopped, not how long a wake takes.
  if (waking_ns >= 0 && arrived->phase >= 0 && (uint64_t)waking_ns < outlook->gap_ns)
    ws_lead_learn(&its->lead[arrived->phase], waking_ns - arrived->late_ns, by_timer, its->found, in_time);
}

/// @return how long to spin for what follows
static int64_t best_wait(const ws_worker_t *worker, const ws_window_t *follows, int64_t bound_ns)
{
  const int64_t wait_ns = ws_window_best_wait(follows, 0, bound_ns, 0, (int64_t)ws_miss_ns(worker));
  return wait_ns + wait_ns / 8; // the longest of a few samples is not the longest possible
}

/// A spin that the cap would cut short gains nothing: the time is saved up for one that lasts.
/// @return how long to spin if the allowance lasts for that, else only for what follows at once
static int64_t affordable_wait(ws_worker_t *worker, const ws_window_t *follows, uint64_t now_ns)
{
  const struct ws_pool_s *pool = worker->pool;
  const int64_t wait_ns = best_wait(worker, follows, (int64_t)pool->settings.spin_ns_max);
  const int64_t allowed_ns = ws_spin_forecast(worker, now_ns);
  if (wait_ns == 0 || wait_ns <= allowed_ns || ws_spin_mode(pool) == WS_SPIN_HOT)
    return wait_ns;
  ws_count(&worker->queue.count.capped, 1);
  const int64_t short_ns = best_wait(worker, follows, CONTINUES_NS_MIN);
  return short_ns <= allowed_ns ? short_ns : 0;
}

/// @return until when to spin for what follows the work that was just done
static uint64_t look_until(ws_worker_t *worker, uint64_t now_ns)
{
  const struct ws_pool_s *pool = worker->pool;
  if (ws_hint_load(&pool->prewake->level) == 0)
    return now_ns;
  const ws_window_t *follows = ws_follows(worker->prewake);
  if (follows->count < FOLLOWS_MIN)
    return now_ns + pool->settings.spin_ns_max;
  return now_ns + (uint64_t)affordable_wait(worker, follows, now_ns);
}

uint64_t ws_prewake_out_of_work(ws_worker_t *worker, uint64_t now_ns)
{
  struct ws_pool_s *pool = worker->pool;
  ws_prewake_worker_t *its = worker->prewake;
  const uint64_t arrival_ns = ws_hint_load(&pool->prewake->arrival_ns);
  its->found = true;
  // Without a new arrival the same burst goes on: with tiny tasks a worker runs out of work again and again.
  if (arrival_ns != its->learnt_ns) {
    ws_outlook_t outlook;
    ws_rhythm_update(pool, now_ns);
    if (ws_rhythm_read(pool->prewake, false, &outlook)) {
      learn(worker, &outlook);
      its->learnt_ns = outlook.seen_ns;
    }
  }
  ws_hint_store(&pool->prewake->out_of_work_ns, now_ns); // after earlier arrivals were learnt
  return look_until(worker, now_ns);
}

/// Count one more, if there are fewer than @p limit.
static bool count_below(ws_au32_t *counter, uint32_t limit)
{
  if (ws_hint_add(counter, 1) < limit)
    return true;
  ws_hint_add(counter, 0u - 1);
  return false;
}

/// @return whether the worker may set its timer: no more timers are set than workers may be awake or are
/// needed, and those near the producer come first
static bool arm(ws_worker_t *worker, uint32_t needed)
{
  struct ws_pool_s *pool = worker->pool;
  const uint32_t most = ws_awake_limit(pool), limit = most < needed ? most : needed;
  const bool is_far = !ws_near_is(pool, worker);
  const uint32_t near = is_far ? ws_near_count(pool) : 0;
  if (is_far && (limit <= near || !count_below(&pool->prewake->armed_far, limit - near)))
    return false;
  const bool armed = count_below(&pool->armed, limit);
  if (is_far && !armed)
    ws_hint_add(&pool->prewake->armed_far, 0u - 1);
  worker->prewake->is_far = is_far && armed;
  return armed;
}

void ws_prewake_disarm(ws_worker_t *worker)
{
  if (ws_own_load(&worker->alarm_ns) == 0)
    return;
  ws_hint_store(&worker->alarm_ns, 0);
  ws_hint_add(&worker->pool->armed, 0u - 1);
  if (WS_UNLIKELY(worker->prewake->is_far))
    ws_hint_add(&worker->pool->prewake->armed_far, 0u - 1);
  worker->prewake->is_far = false;
}

/// Withdraw the timer of @p plan if the worker may not set it. @return why it has none
static ws_late_t judge(ws_worker_t *worker, uint32_t needed, ws_plan_t *plan)
{
  const struct ws_pool_s *pool = worker->pool;
  const bool lower = ws_spin_mode(pool) == WS_SPIN_OFF || ws_hint_load(&pool->prewake->level) != WS_LEVEL_TOP;
  ws_late_t why = WS_LATE_WAKE;
  if (plan->rise_ns == 0)
    why = lower ? WS_LATE_LEVEL : WS_LATE_NO_PATTERN;
  else if (ws_spin_forecast(worker, plan->rise_ns) <= 0)
    why = WS_LATE_CAP; // it would have no CPU time left to spin
  else if (ws_near_stops_producer(worker))
    why = WS_LATE_PLACES; // its only CPU is the producer's
  else if (!arm(worker, needed))
    why = WS_LATE_PLACES;
  if (why != WS_LATE_WAKE)
    plan->rise_ns = 0;
  return why;
}

/// Learn how long the last burst was, if the worker has run tasks of it.
static void learn_length(ws_worker_t *worker, const ws_outlook_t *outlook)
{
  ws_prewake_worker_t *its = worker->prewake;
  const int32_t phase = outlook->arrived.phase;
  if (its->found && phase >= 0 && worker->out_of_work_ns > outlook->seen_ns)
    ws_window_add(&its->lead[phase].length, (int64_t)(worker->out_of_work_ns - outlook->seen_ns));
}

/// Count the times in a row that no timer is worth it.
static void note_plan(ws_prewake_pool_t *its, const ws_plan_t *plan)
{
  const uint32_t unplanned = ws_hint_load(&its->unplanned);
  if (plan->rise_ns != 0 && !plan->tries)
    ws_hint_store(&its->unplanned, 0);
  else if (unplanned < UNPLANNED_MIN)
    ws_hint_store(&its->unplanned, unplanned + 1); // of two workers' at once one may get lost
}

bool ws_prewake_rests(const struct ws_pool_s *pool)
{
  return ws_hint_load(&pool->prewake->unplanned) >= UNPLANNED_MIN;
}

ws_plan_t ws_prewake_plan(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  ws_prewake_worker_t *its = worker->prewake;
  ws_outlook_t outlook = {0};
  if (pool->cpus > 1) {
    ws_rhythm_update(pool, worker->slept_ns);
    if (ws_rhythm_read(pool->prewake, true, &outlook)) {
      learn(worker, &outlook);
      learn_length(worker, &outlook);
    }
  }
  ws_plan_t plan = ws_plan_choose(worker, &outlook, worker->slept_ns);
  note_plan(pool->prewake, &plan);
  const uint32_t most = ws_plan_needed(pool, &outlook, &plan);
  ws_count(&worker->queue.count.misses, its->by_timer); // learn() has not seen a burst for it
  if (its->by_timer && !its->found)
    its->gave_up = its->plan;
  its->by_timer = false;
  its->waking_ns = -1;
  its->unset = judge(worker, most, &plan);
  its->plan = plan;
  ws_store_relaxed(&worker->alarm_ns, plan.rise_ns); // relaxed: published with the worker's bit
  ws_prewake_quiet(pool);
  return plan;
}

/// @return class of a time asleep, see WS_WAKE_GAPS
static uint32_t gap_class(uint64_t gap_ns)
{
  uint32_t class = 0;
  for (uint64_t bound_ns = 250000; gap_ns >= bound_ns && class < WS_WAKE_GAPS - 1; bound_ns *= 4)
    class ++;
  return class;
}

static void note_rise(ws_prewake_worker_t *its)
{
  const ws_plan_t *plan = &its->plan;
  ws_histogram_add(&its->leads, plan->expected_ns > plan->rise_ns ? plan->expected_ns - plan->rise_ns : 0);
  if (plan->phase >= 0)
    its->lead[plan->phase].risen_ns = plan->expected_ns;
  else
    its->hinted_ns = plan->expected_ns;
}

/// Learn how long the worker took to wake, since @p from_ns.
static void learn_waking(ws_worker_t *worker, ws_wake_by_t by, uint64_t from_ns)
{
  ws_prewake_worker_t *its = worker->prewake;
  struct ws_pool_s *pool = worker->pool;
  const uint64_t slept_ns = worker->rose_ns - worker->slept_ns;
  const int64_t waking_ns = worker->rose_ns > from_ns ? (int64_t)(worker->rose_ns - from_ns) : 0;
  ws_histogram_add(&its->woken[by][gap_class(slept_ns)], (uint64_t)waking_ns);
  if (by == WS_WAKE_PUSH && slept_ns < ws_stat_load(&pool->prewake->sleep_ns_min))
    return; // its CPU was still warm: the next burst will not find it so
  its->waking_ns = waking_ns;
  ws_window_add(by == WS_WAKE_TIMER ? &its->timed : &its->pushed, waking_ns);
  if (by == WS_WAKE_TIMER)
    return;
  // The median: while timers wake the worker, pushes do so on rare occasions only, when something was wrong.
  worker->react_ns = (double)ws_window_quantile(&its->pushed, 500);
  ws_stat_store(&pool->waking_ns, (uint64_t)worker->react_ns);
}

uint64_t ws_prewake_woken(ws_worker_t *worker, ws_wake_by_t by)
{
  ws_prewake_worker_t *its = worker->prewake;
  if (worker->called_ns != 0 && ws_alarm_is_over(worker, worker->called_ns))
    by = WS_WAKE_TIMER; // the push came when its timer had fired already
  const uint64_t from_ns = by == WS_WAKE_TIMER ? its->plan.rise_ns : worker->called_ns;
  its->found = false;
  its->by_timer = by == WS_WAKE_TIMER;
  if (its->by_timer && from_ns != 0)
    note_rise(its);
  if (from_ns > worker->slept_ns) // else it found work before it slept, or there was no time to sleep
    learn_waking(worker, by, from_ns);
  return its->by_timer ? its->plan.give_up_ns : worker->rose_ns;
}

void ws_prewake_throttled(struct ws_pool_s *pool, uint64_t span_ns)
{
  ws_stat_add(&pool->prewake->throttled_looks, 1);
  ws_level_fall(pool->prewake, ws_os_now_ns(), span_ns);
}
