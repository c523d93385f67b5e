// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake_stats.c
/// The snapshot of pre-wake of ws_stats.h.
#include "../include/ws_stats.h"

#include "../base/ws_sized.h"
#include "ws_prewake_state.h"

static ws_wake_latency_t latency(const ws_histogram_sum_t *sum)
{
  return (ws_wake_latency_t){
      .wakes = sum->values,
      .p50_ns = ws_histogram_quantile(sum, 500),
      .p99_ns = ws_histogram_quantile(sum, 990),
  };
}

static void add_outcomes(ws_prewake_stats_t *stats, const ws_counters_t *count)
{
  stats->hits += ws_stat_load(&count->hits);
  stats->lates += ws_stat_load(&count->lates);
  stats->misses += ws_stat_load(&count->misses);
  stats->unused += ws_stat_load(&count->unused);
  stats->spin_ns += ws_stat_load(&count->spin_ns);
  stats->capped_spins += ws_stat_load(&count->capped);
  stats->preempted_spins += ws_stat_load(&count->preempted);
}

static void add_latencies(const struct ws_pool_s *pool, ws_prewake_stats_t *stats)
{
  for (uint32_t by = WS_WAKE_PUSH; by <= WS_WAKE_TIMER; by++) {
    for (uint32_t gap = 0; gap < WS_WAKE_GAPS; gap++) {
      ws_histogram_sum_t sum = {0};
      for (uint32_t i = 0; i < pool->workers; i++)
        ws_histogram_merge(&sum, &pool->worker[i]->prewake->woken[by][gap]);
      stats->wake[by][gap] = latency(&sum);
    }
  }
}

static void add_late(const ws_late_count_t *late, ws_prewake_stats_t *stats)
{
  stats->started_bursts = ws_stat_load(&late->starts);
  stats->late_ns_p90 = ws_stat_load(&late->bound_ns);
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    stats->late_by[i] = ws_stat_load(&late->by[i]);
}

void ws_pool_prewake_stats_sized(const struct ws_pool_s *pool, ws_prewake_stats_t *stats, size_t bytes)
{
  if (!pool || !stats)
    return;
  const ws_prewake_pool_t *its = pool->prewake;
  ws_histogram_sum_t leads = {0};
  ws_prewake_stats_t own = {
      .bursts = ws_stat_load(&its->bursts),
      .expected_bursts = ws_stat_load(&its->expected_bursts),
      .absent_bursts = ws_stat_load(&its->absent_bursts),
      .period_ns = ws_stat_load(&its->period_ns),
      .period_bursts = ws_stat_load(&its->period_bursts),
      .state = (ws_pattern_state_t)ws_stat_load(&its->state),
      .locks = ws_stat_load(&its->locks),
      .level = ws_stat_load(&its->level),
      .level_changes = ws_stat_load(&its->level_changes),
      .throttled_looks = ws_stat_load(&its->throttled_looks),
  };
  for (uint32_t i = 0; i < pool->workers; i++) {
    add_outcomes(&own, &pool->worker[i]->queue.count);
    ws_histogram_merge(&leads, &pool->worker[i]->prewake->leads);
  }
  own.lead_p50_ns = ws_histogram_quantile(&leads, 500);
  own.lead_p99_ns = ws_histogram_quantile(&leads, 990);
  add_latencies(pool, &own);
  add_late(&its->late, &own);
  ws_sized_put(stats, bytes, &own, sizeof(own));
}
