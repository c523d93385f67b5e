// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake_stats.c
/// What pre-wake tells: the snapshot of ws_stats.h, and why bursts start late. The first worker that takes a
/// task of a burst compares its start with the 90th percentile of starts. Above that it finds the cause from
/// what it remembers of its sleep, and counts it. A burst that is not late costs a comparison.
#include "../include/ws_stats.h"

#include "../trace/ws_traced.h"
#include "ws_prewake_state.h"

/// A gap longer than this many usual ones is a pause.
#define PAUSE_GAPS 4u
/// Part of the percentile by which a start below it lowers it. One above raises it nine times as much: it
/// rests where one in ten is above (Robbins and Monro, A Stochastic Approximation Method, 1951).
#define STEP_PART 128u
#define RAISE 9u

/// @return the cause, of those that hold the one that comes first in time
static ws_late_t cause_of(const ws_worker_t *worker, uint64_t arrival_ns, uint64_t before_ns,
                          uint64_t late_ns, uint64_t called_ns)
{
  const ws_prewake_worker_t *its = worker->prewake;
  const ws_plan_t *gave_up = &its->gave_up;
  const uint32_t producer = ws_hint_load(&worker->pool->near.producer) & WS_PRODUCER_CPU;
  const bool beside = producer == (uint32_t)(ws_os_cpu() + 1);
  if (its->rose_ns <= arrival_ns)
    return WS_LATE_CPU_TAKEN;
  if (its->by_timer && its->plan.rise_ns <= arrival_ns)
    return beside ? WS_LATE_BUSY_CPU : WS_LATE_TIMER;
  if (its->by_timer)
    return WS_LATE_BURST_EARLY;
  // The worker slept until a push called it.
  if (gave_up->rise_ns != 0 && gave_up->expected_ns < arrival_ns) {
    const int64_t behind_ns = (int64_t)(arrival_ns - gave_up->expected_ns);
    return behind_ns > gave_up->late_ns_max ? WS_LATE_BURST_LATE : WS_LATE_GAVE_UP;
  }
  ws_outlook_t outlook;
  ws_rhythm_glance(worker->pool->prewake, &outlook);
  if (outlook.gap_ns != 0 && before_ns != 0 && arrival_ns - before_ns > PAUSE_GAPS * outlook.gap_ns)
    return WS_LATE_PAUSE;
  if (its->plan.rise_ns != 0)
    return WS_LATE_BURST_EARLY;
  if (called_ns > arrival_ns && called_ns - arrival_ns > late_ns / 2)
    return WS_LATE_CALL;
  if (its->unset != WS_LATE_WAKE)
    return its->unset;
  return beside ? WS_LATE_BUSY_CPU : WS_LATE_WAKE;
}

void ws_late_start(ws_worker_t *worker, uint64_t arrival_ns, uint64_t found_ns, uint64_t called_ns)
{
  ws_prewake_pool_t *its = worker->pool->prewake;
  const uint64_t before_ns = ws_stat_load(&its->started_ns);
  ws_stat_store(&its->started_ns, arrival_ns);
  if (arrival_ns == before_ns || found_ns < arrival_ns)
    return;
  const uint64_t late_ns = found_ns - arrival_ns, bound_ns = ws_stat_load(&its->late_ns);
  if (worker->pool->live.starts)
    ws_histogram_add(worker->pool->live.starts, late_ns);
  const uint64_t step_ns = bound_ns / STEP_PART + 1;
  const uint64_t below_ns = bound_ns > step_ns ? bound_ns - step_ns : 0;
  const bool first = ws_stat_add(&its->starts, 1) == 0, above = late_ns > bound_ns;
  ws_stat_store(&its->late_ns, first ? late_ns : above ? bound_ns + RAISE * step_ns : below_ns);
  if (!above || first)
    return;
  const ws_late_t cause = cause_of(worker, arrival_ns, before_ns, late_ns, called_ns);
  ws_stat_add(&its->late_by[cause], 1);
  WS_PROBE(late, worker->pool, ws_traced_pool(worker->pool), (int32_t)worker->index, ws_late_name(cause), late_ns);
}

void ws_pool_prewake_stats_sized(const struct ws_pool_s *pool, ws_prewake_stats_t *stats, size_t bytes)
{
  if (!pool || !stats)
    return;
  const ws_prewake_pool_t *its = pool->prewake;
  ws_histogram_sum_t leads = {0};
  ws_outlook_t outlook;
  ws_rhythm_glance(its, &outlook);
  ws_prewake_stats_t own = {
      .bursts = outlook.bursts,
      .expected_bursts = outlook.expected_bursts,
      .absent_bursts = outlook.absent_bursts,
      .period_ns = (uint64_t)outlook.period_ns,
      .period_bursts = outlook.phases,
      .state = outlook.state,
      .locks = outlook.locks,
      .level = WS_LEVEL_TOP - ws_stat_load(&its->lowered),
      .level_changes = ws_stat_load(&its->level_changes),
      .throttled_looks = ws_stat_load(&its->throttled_looks),
      .started_bursts = ws_stat_load(&its->starts),
      .late_ns_p90 = ws_stat_load(&its->late_ns),
  };
  for (uint32_t i = 0; i < pool->workers; i++) {
    const ws_counters_t *count = &pool->worker[i]->queue.count;
    own.hits += ws_stat_load(&count->hits);
    own.lates += ws_stat_load(&count->lates);
    own.misses += ws_stat_load(&count->misses);
    own.unused += ws_stat_load(&count->unused);
    own.spin_ns += ws_stat_load(&count->spin_ns);
    own.capped_spins += ws_stat_load(&count->capped);
    own.preempted_spins += ws_stat_load(&count->preempted);
    ws_histogram_merge(&leads, &pool->worker[i]->prewake->leads);
  }
  own.lead_p50_ns = ws_histogram_quantile(&leads, 500);
  own.lead_p99_ns = ws_histogram_quantile(&leads, 990);
  for (uint32_t i = 0; i < 2 * WS_WAKE_GAPS; i++) {
    const uint32_t by = i / WS_WAKE_GAPS, gap = i % WS_WAKE_GAPS;
    ws_histogram_sum_t sum = {0};
    for (uint32_t k = 0; k < pool->workers; k++)
      ws_histogram_merge(&sum, &pool->worker[k]->prewake->woken[by][gap]);
    own.wake[by][gap] =
        (ws_wake_latency_t){sum.values, ws_histogram_quantile(&sum, 500), ws_histogram_quantile(&sum, 990)};
  }
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    own.late_by[i] = ws_stat_load(&its->late_by[i]);
  ws_sized_put(stats, bytes, &own, sizeof(own));
}
