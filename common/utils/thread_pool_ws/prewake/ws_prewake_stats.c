// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake_stats.c
/// What pre-wake reports: the snapshot of ws_stats.h, and how long bursts take to start.
#include "../include/ws_stats.h"

#include "ws_prewake_state.h"

/// Part of the percentile by which a start below it lowers it. One above raises it nine times as much: it
/// rests where one in ten is above (Robbins and Monro, A Stochastic Approximation Method, 1951).
#define STEP_PART 128u
#define RAISE 9u

void ws_start_note(struct ws_pool_s *pool, uint64_t arrival_ns, uint64_t found_ns)
{
  ws_prewake_pool_t *shared = pool->prewake;
  const uint64_t before_ns = ws_stat_load(&shared->started_ns);
  ws_stat_store(&shared->started_ns, arrival_ns);
  if (arrival_ns == before_ns || found_ns < arrival_ns)
    return;
  const uint64_t took_ns = found_ns - arrival_ns, p90_ns = ws_stat_load(&shared->start_p90_ns);
  if (pool->live.starts)
    ws_histogram_add(pool->live.starts, took_ns);
  const uint64_t step_ns = p90_ns / STEP_PART + 1;
  const uint64_t below_ns = p90_ns > step_ns ? p90_ns - step_ns : 0;
  const bool first = ws_stat_add(&shared->starts, 1) == 0, above = took_ns > p90_ns;
  ws_stat_store(&shared->start_p90_ns, first ? took_ns : above ? p90_ns + RAISE * step_ns : below_ns);
}

void ws_pool_prewake_stats_sized(const struct ws_pool_s *pool, ws_prewake_stats_t *stats, size_t bytes)
{
  if (!pool || !stats)
    return;
  const ws_prewake_pool_t *shared = pool->prewake;
  ws_histogram_sum_t leads = {0};
  ws_outlook_t outlook;
  ws_rhythm_glance(shared, &outlook);
  ws_prewake_stats_t own = {
      .bursts = outlook.bursts,
      .expected_bursts = outlook.expected_bursts,
      .absent_bursts = outlook.absent_bursts,
      .period_ns = (uint64_t)outlook.period_ns,
      .period_bursts = outlook.phases,
      .state = outlook.state,
      .locks = outlook.locks,
      .level = WS_LEVEL_TOP - ws_stat_load(&shared->lowered),
      .level_changes = ws_stat_load(&shared->level_changes),
      .throttled_looks = ws_stat_load(&shared->throttled_looks),
      .started_bursts = ws_stat_load(&shared->starts),
      .late_ns_p90 = ws_stat_load(&shared->start_p90_ns),
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
  ws_sized_put(stats, bytes, &own, sizeof(own));
}
