// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake.c
/// ws_prewake.h: the events. The pool keeps what it learns about bursts (ws_rhythm.c). Each worker keeps its
/// own wake latencies. ws_plan.c decides when a worker wakes.
#include "ws_prewake.h"

#include "../sleep/ws_budget.h"
#include "../trace/ws_traced.h"
#include "ws_prewake_state.h"

/// A gap shorter than this is the next phase of the same slot, whatever the settings say.
#define CONTINUES_NS_MIN 2000u
/// Gaps that must have been seen before they decide how long to spin after a burst.
#define FOLLOWS_MIN 8u
/// How many times as long a time without trouble may become; after so many of them a fall counts as the first
/// one. A bad minute must not affect the next one.
#define LONGER_MAX 16u

const size_t ws_prewake_pool_bytes = sizeof(ws_prewake_pool_t);
const size_t ws_prewake_worker_bytes = sizeof(ws_prewake_worker_t);

/// @return the time from which on a task counts as the first one after a pause: earlier ones belong to the
///         burst that has begun
static uint64_t pause_over_ns(const struct ws_pool_s *pool)
{
  const uint64_t bound_ns = pool->settings.spin_ns_max;
  const uint64_t out_of_work_ns = ws_hint_load(&pool->prewake->out_of_work_ns);
  const uint64_t arrival_ns = ws_hint_load(&pool->prewake->arrival_ns);
  const uint64_t last_ns = out_of_work_ns > arrival_ns ? out_of_work_ns : arrival_ns;
  return last_ns + (bound_ns > CONTINUES_NS_MIN ? bound_ns : CONTINUES_NS_MIN);
}

uint64_t ws_prewake_idle(struct ws_pool_s *pool, uint64_t now_ns)
{
  const uint64_t from_ns = pause_over_ns(pool);
  if (now_ns < from_ns)
    return from_ns;
  if (!ws_hint_load(&pool->quiet)) // a missed one is seen by the worker that finds the task
    ws_hint_store(&pool->quiet, 1);
  return UINT64_MAX;
}

/// A burst begins at @p at_ns, unless the task belongs to the one before.
static void note_arrival(struct ws_pool_s *pool, uint64_t at_ns)
{
  if (at_ns < pause_over_ns(pool))
    return;
  ws_hint_store(&pool->prewake->arrival_ns, at_ns); // each worker reads it with its first task of a burst
  ws_stat_store(&pool->prewake->starters, 0);
}

/// @return whether a hint has announced what comes at @p at_ns, and no task was run since
static bool is_announced(const ws_prewake_pool_t *shared, uint64_t at_ns)
{
  return at_ns <= ws_hint_load(&shared->announced_until_ns)
         && ws_hint_load(&shared->out_of_work_ns) <= ws_hint_load(&shared->announced_ns);
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
  ws_prewake_pool_t *shared = pool->prewake;
  if (!ws_hint_load(&pool->quiet))
    return;
  if (!is_announced(shared, now_ns)) { // else the same burst is announced again
    note_arrival(pool, now_ns);
    ws_hint_store(&shared->announced_ns, now_ns);
  }
  ws_hint_store(&shared->announced_until_ns, until_ns);
}

void ws_prewake_found(ws_worker_t *worker, uint64_t now_ns, uint64_t called_ns)
{
  ws_prewake_pool_t *shared = worker->pool->prewake;
  ws_prewake_worker_t *prewake = worker->prewake;
  // A worker that was called found its task later than the task came.
  const uint64_t gap_ns =
      (called_ns > prewake->out_of_work_ns ? called_ns : now_ns) - prewake->out_of_work_ns;
  ws_prewake_arrived(worker->pool, now_ns); // if the push has not noted it
  ws_window_add(&prewake->follows[prewake->follow], (int64_t)gap_ns);
  if (gap_ns <= worker->pool->settings.spin_ns_max) {
    prewake->follow += prewake->follow < WS_FOLLOWS - 1;
  } else { // it is the first task that the worker takes of a burst
    const uint64_t arrival_ns = ws_hint_load(&shared->arrival_ns);
    prewake->follow = 0;
    // ws_rhythm.c counts these workers after the burst. If each worker changed a common counter here, many
    // workers would wait for each other.
    prewake->burst = 1 - prewake->burst;
    ws_stat_store(&prewake->taken[prewake->burst].arrival_ns, arrival_ns);
    ws_stat_store(&prewake->taken[prewake->burst].tasks, 1);
    if (ws_stat_load(&shared->started_ns) != arrival_ns && ws_stat_add(&shared->starters, 1) == 0)
      ws_start_note(worker->pool, arrival_ns, now_ns);
  }
}

void ws_prewake_took_more(ws_worker_t *worker)
{
  ws_au32_t *tasks = &worker->prewake->taken[worker->prewake->burst].tasks;
  ws_stat_store(tasks, ws_stat_load(tasks) + 1);
}

/// Learn from the last burst, once, how well this worker's wake was timed. If the pattern is another one
/// since then, forget the leads.
static void learn(ws_worker_t *worker, const ws_outlook_t *outlook)
{
  ws_prewake_worker_t *prewake = worker->prewake;
  const ws_arrived_t *arrived = &outlook->arrived;
  if (prewake->learnt_ns == outlook->seen_ns)
    return;
  prewake->learnt_ns = outlook->seen_ns;
  if (prewake->locks != outlook->locks)
    memset(prewake->lead, 0, sizeof(prewake->lead)); // the phases are of another pattern now
  prewake->locks = outlook->locks;
  const bool in_time = prewake->rose_ns <= outlook->seen_ns;
  if (prewake->by_timer) {
    ws_counters_t *count = &worker->queue.count;
    ws_count(in_time ? &count->hits : &count->lates, 1);
    ws_count(&count->unused, !prewake->found);
  }
  // A wake that took longer than a period shows that the process was stopped, not how long a wake takes.
  if (prewake->waking_ns >= 0 && arrived->phase >= 0 && (uint64_t)prewake->waking_ns < outlook->gap_ns)
    ws_lead_learn(&prewake->lead[arrived->phase], prewake->waking_ns - arrived->error_ns, prewake->by_timer,
                  prewake->found, in_time);
  prewake->waking_ns = -1;
  prewake->by_timer = false;
}

/// @return how long to spin for what follows, at most @p bound_ns
static int64_t best_wait(const ws_worker_t *worker, int64_t bound_ns)
{
  const ws_window_t *follows = &worker->prewake->follows[worker->prewake->follow];
  const int64_t wait_ns = ws_window_best_wait(follows, 0, bound_ns, 0, (int64_t)ws_miss_ns(worker));
  // longer: the longest of a few samples is not the longest possible
  return wait_ns + wait_ns / 8 < bound_ns ? wait_ns + wait_ns / 8 : bound_ns;
}

/// @return how long to spin for what follows the work that was just done; 0 = not at all
static uint64_t look_ns(ws_worker_t *worker, uint64_t now_ns)
{
  const struct ws_pool_s *pool = worker->pool;
  const uint64_t most_ns = pool->settings.spin_ns_max;
  if (ws_hint_load(&pool->prewake->lowered) == WS_LEVEL_TOP)
    return 0;
  if (worker->prewake->follows[worker->prewake->follow].count < FOLLOWS_MIN)
    return most_ns;
  const int64_t wait_ns = best_wait(worker, (int64_t)most_ns), allowed_ns = ws_spin_forecast(worker, now_ns);
  if (wait_ns == 0 || wait_ns <= allowed_ns || ws_spin_mode(pool) == WS_SPIN_HOT)
    return (uint64_t)wait_ns;
  // A spin that the cap would cut short gains nothing: the time is saved up for one that lasts. Until then
  // the worker spins only for what follows at once.
  ws_count(&worker->queue.count.capped, 1);
  const int64_t short_ns = best_wait(worker, CONTINUES_NS_MIN);
  return short_ns <= allowed_ns ? (uint64_t)short_ns : 0;
}

uint64_t ws_prewake_out_of_work(ws_worker_t *worker, uint64_t now_ns)
{
  struct ws_pool_s *pool = worker->pool;
  ws_prewake_worker_t *prewake = worker->prewake;
  prewake->found = true;
  prewake->out_of_work_ns = now_ns;
  // Without a new arrival the same burst goes on: with tiny tasks a worker runs out of work again and again.
  if (ws_hint_load(&pool->prewake->arrival_ns) != prewake->learnt_ns) {
    ws_outlook_t outlook;
    ws_rhythm_update(pool, now_ns);
    if (ws_rhythm_read(pool->prewake, false, &outlook))
      learn(worker, &outlook);
  }
  ws_hint_store(&pool->prewake->out_of_work_ns, now_ns); // after earlier arrivals were learnt
  return now_ns + look_ns(worker, now_ns);
}

uint64_t ws_prewake_plan(ws_worker_t *worker, uint64_t slept_ns)
{
  struct ws_pool_s *pool = worker->pool;
  ws_prewake_worker_t *prewake = worker->prewake;
  ws_outlook_t outlook = {0};
  prewake->slept_ns = slept_ns;
  if (pool->cpus > 1) {
    ws_rhythm_update(pool, slept_ns);
    if (ws_rhythm_read(pool->prewake, true, &outlook)) {
      learn(worker, &outlook);
      const int32_t phase = outlook.arrived.phase;
      // How long the last burst was, if the worker has run tasks of it.
      if (prewake->found && phase >= 0 && prewake->out_of_work_ns > outlook.seen_ns)
        ws_window_add(&prewake->lead[phase].length, (int64_t)(prewake->out_of_work_ns - outlook.seen_ns));
    }
  }
  ws_count(&worker->queue.count.misses, prewake->by_timer); // learn() has not seen a burst for it
  prewake->by_timer = false;
  prewake->waking_ns = -1;
  prewake->plan = ws_plan_choose(worker, &outlook);
  prewake->is_armed = prewake->plan.rise_ns != 0;
  if (!ws_hint_load(&pool->quiet)) // as in ws_prewake_idle()
    ws_hint_store(&pool->quiet, 1);
  if (prewake->plan.rise_ns != 0)
    WS_PROBE(prewake, pool, ws_traced_pool(pool), (int32_t)worker->index, 0u, prewake->plan.rise_ns,
             prewake->plan.expected_ns);
  return prewake->plan.rise_ns;
}

/// The number of timers is limited (arm() in ws_plan.c): another worker may set one now.
void ws_prewake_disarm(ws_worker_t *worker)
{
  ws_prewake_worker_t *prewake = worker->prewake;
  if (!prewake->is_armed)
    return;
  prewake->is_armed = false;
  ws_hint_add(&worker->pool->prewake->armed, 0u - 1);
}

/// Learn how long the worker took to wake. @param from_ns  the call, or the time of its timer
static void learn_waking(ws_worker_t *worker, ws_wake_by_t by, uint64_t from_ns)
{
  ws_prewake_worker_t *prewake = worker->prewake;
  ws_prewake_pool_t *shared = worker->pool->prewake;
  const uint64_t slept_ns = prewake->rose_ns - prewake->slept_ns;
  const int64_t waking_ns = prewake->rose_ns > from_ns ? (int64_t)(prewake->rose_ns - from_ns) : 0;
  uint32_t gap = 0; // by how long it slept: below 0.25, 1, 4, 16 ms, longer
  for (uint64_t bound_ns = 250000; slept_ns >= bound_ns && gap < WS_WAKE_GAPS - 1; bound_ns *= 4)
    gap++;
  ws_histogram_add(&prewake->woken[by][gap], (uint64_t)waking_ns);
  if (by == WS_WAKE_PUSH && slept_ns < ws_stat_load(&shared->sleep_ns_min))
    return; // its CPU was still warm: the next burst will not find it so
  prewake->waking_ns = waking_ns;
  ws_window_add(&prewake->wakes[by], waking_ns);
  if (by == WS_WAKE_TIMER)
    return;
  // The median: while timers wake the worker, pushes do so on rare occasions only, when something was wrong.
  prewake->react_ns = (double)ws_window_quantile(&prewake->wakes[by], 500);
  ws_stat_store(&shared->waking_ns, (uint64_t)prewake->react_ns);
}

uint64_t ws_prewake_woken(ws_worker_t *worker, ws_wake_by_t by, uint64_t rose_ns, uint64_t called_ns)
{
  ws_prewake_worker_t *prewake = worker->prewake;
  const ws_plan_t *plan = &prewake->plan;
  prewake->rose_ns = rose_ns;
  if (prewake->is_armed && plan->rise_ns <= called_ns)
    by = WS_WAKE_TIMER; // the push came when its timer had fired already
  const uint64_t from_ns = by == WS_WAKE_TIMER ? plan->rise_ns : called_ns;
  prewake->found = false;
  prewake->by_timer = by == WS_WAKE_TIMER;
  if (prewake->by_timer && from_ns != 0) {
    ws_histogram_add(&prewake->leads, plan->expected_ns > from_ns ? plan->expected_ns - from_ns : 0);
    *(plan->phase >= 0 ? &prewake->lead[plan->phase].timed_ns : &prewake->hinted_ns) = plan->expected_ns;
  }
  if (from_ns > prewake->slept_ns) // else it found work before it slept, or there was no time to sleep
    learn_waking(worker, by, from_ns);
  ws_prewake_disarm(worker);
  return prewake->by_timer ? plan->give_up_ns : rose_ns;
}

void ws_prewake_expect(struct ws_pool_s *pool, uint64_t at_ns)
{
  ws_hint_store(&pool->prewake->expected_ns, at_ns); // read by workers that plan their sleep
}

uint32_t ws_prewake_armed(const struct ws_pool_s *pool)
{
  return ws_hint_load(&pool->prewake->armed);
}

uint64_t ws_prewake_waking_ns(const struct ws_pool_s *pool)
{
  return ws_stat_load(&pool->prewake->waking_ns);
}

void ws_prewake_throttled(struct ws_pool_s *pool, uint64_t span_ns)
{
  ws_prewake_pool_t *shared = pool->prewake;
  const uint64_t now_ns = ws_os_now_ns();
  const uint32_t lowered = ws_hint_load(&shared->lowered);
  const uint64_t last_ns = ws_hint_load(&shared->span_ns), clean_ns = ws_hint_load(&shared->clean_ns);
  const bool is_first = lowered == 0 && now_ns >= clean_ns + LONGER_MAX * last_ns;
  const uint64_t longer_ns = 2 * last_ns < LONGER_MAX * span_ns ? 2 * last_ns : LONGER_MAX * span_ns;
  const uint64_t next_ns = is_first || longer_ns < span_ns ? span_ns : longer_ns;
  ws_stat_add(&shared->throttled_looks, 1);
  ws_hint_store(&shared->span_ns, next_ns);
  ws_hint_store(&shared->clean_ns, now_ns + next_ns);
  if (lowered == WS_LEVEL_TOP)
    return;
  ws_hint_store(&shared->lowered, lowered + 1);
  ws_stat_add(&shared->level_changes, 1);
}
