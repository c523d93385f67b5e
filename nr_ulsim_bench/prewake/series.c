// SPDX-License-Identifier: BSD-3-Clause
#include "series.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inject.h"

bool series_open(series_t *series, const spin_mode_t *mode, uint32_t slots_max, uint32_t rounds_max)
{
  *series = (series_t){.mode = mode, .slots_max = slots_max};
  uint64_t *const values = calloc(slots_max, 5 * sizeof *values);
  series->lateness_ns = values;
  series->round_cost_us = calloc(rounds_max, sizeof series->round_cost_us[0]);
  series->round_lateness_us = calloc(rounds_max, sizeof series->round_lateness_us[0]);
  if (!values || !series->round_cost_us || !series->round_lateness_us)
    return false;
  series->first_lag_ns = values + slots_max;
  series->last_lag_ns = values + 2 * (size_t)slots_max;
  series->makespan_ns = values + 3 * (size_t)slots_max;
  series->ratio_ppm = values + 4 * (size_t)slots_max;
  return true;
}

void series_close(series_t *series)
{
  free(series->lateness_ns);
  free(series->round_cost_us);
  free(series->round_lateness_us);
}

void reading_take(reading_t *reading, bench_run_t *bench)
{
  const uint32_t workers = bench->question->work.workers;
  ws_worker_stats_t worker[workers];
  ws_stats_t total;
  ws_prewake_stats_t prewake;
  reading->usage = usage_now(USAGE_PROCESS);
  reading->worker_cpu_s = bench_worker_cpu_s(bench);
  reading->inject_ns = inject_cpu_ns();
  reading->lost_periods = bench->arrivals.lost_periods;
  ws_pool_prewake_stats(bench->pool, &prewake);
  const uint32_t filled = ws_pool_stats(bench->pool, &total, worker, workers);
  reading->spin_ns = prewake.spin_ns;
  reading->hits = prewake.hits;
  reading->preempted = prewake.preempted_spins;
  reading->level_changes = prewake.level_changes;
  reading->lates = prewake.lates;
  reading->misses = prewake.misses;
  reading->unused = prewake.unused;
  reading->capped = prewake.capped_spins;
  memcpy(reading->late_by, prewake.late_by, sizeof reading->late_by);
  for (uint32_t i = 0; i < workers; i++)
    reading->worker_spin_ns[i] = i < filled ? worker[i].spin_ns : 0;
}

void series_add_slot(series_t *series, const slot_times_t *times, bool late)
{
  if (series->slots == series->slots_max)
    return;
  const uint32_t slot = series->slots++;
  series->lateness_ns[slot] = times->lateness_ns;
  series->first_lag_ns[slot] = times->first_lag_ns;
  series->last_lag_ns[slot] = times->last_lag_ns;
  series->makespan_ns[slot] = times->makespan_ns;
  series->ratio_ppm[slot] = (uint64_t)((double)times->makespan_ns / times->bound_ns * 1e6);
  series->worker_lag_ns += times->worker_lag_ns;
  series->bound_ns += times->bound_ns;
  series->late_slots += late;
  series->round.slots++;
  series->round.lateness_ns += times->lateness_ns;
  series->round.work_ns += times->work_ns;
  series->round.worker_extra_s -= (double)times->worker_work_ns * 1e-9;
}

void series_add_block(series_t *series, const bench_run_t *bench, const reading_t *begin,
                      const reading_t *end)
{
  const double wall_s = end->usage.wall_s - begin->usage.wall_s;
  series->round.wall_s += wall_s;
  // What the injection computed stands for a CPU that sleeps: no part of what the pool costs.
  const double inject_s = (double)(end->inject_ns - begin->inject_ns) * 1e-9;
  series->round.cpu_s += end->usage.cpu_s - begin->usage.cpu_s - inject_s;
  series->round.worker_extra_s += end->worker_cpu_s - begin->worker_cpu_s - inject_s;
  series->lost_periods += end->lost_periods - begin->lost_periods;
  series->ctx_switches += end->usage.ctx_switches - begin->usage.ctx_switches;
  series->hits += end->hits - begin->hits;
  series->preempted += end->preempted - begin->preempted;
  series->level_changes += end->level_changes - begin->level_changes;
  series->lates += end->lates - begin->lates;
  series->misses += end->misses - begin->misses;
  series->unused += end->unused - begin->unused;
  series->capped += end->capped - begin->capped;
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++)
    series->late_by[i] += end->late_by[i] - begin->late_by[i];
  for (uint32_t i = 0; i < bench->question->work.workers; i++) {
    const uint64_t spin_ns = end->worker_spin_ns[i] - begin->worker_spin_ns[i];
    const double percent = (double)spin_ns * 1e-7 / wall_s;
    series->spin_ns += spin_ns;
    if (percent > series->spin_percent_max)
      series->spin_percent_max = percent;
  }
}

/// spin_price holds for one worker: a microsecond of its lateness against microseconds of its own CPU time.
static double cost_us(const bench_run_t *bench, const cost_t *cost)
{
  const double slots = (double)cost->slots;
  const double extra_us = (cost->cpu_s * 1e6 - (double)cost->work_ns * 1e-3) / slots;
  const uint32_t helpers = bench->helpers ? bench->helpers : 1;
  return (double)cost->lateness_ns * 1e-3 / slots + extra_us / helpers / bench->question->spin_price;
}

void series_end_round(series_t *series, const bench_run_t *bench)
{
  cost_t *const round = &series->round;
  const double slots = (double)round->slots;
  series->round_cost_us[series->rounds] = round->slots ? cost_us(bench, round) : 0;
  series->round_lateness_us[series->rounds++] = round->slots ? (double)round->lateness_ns * 1e-3 / slots : 0;
  series->all.slots += round->slots;
  series->all.lateness_ns += round->lateness_ns;
  series->all.work_ns += round->work_ns;
  series->all.cpu_s += round->cpu_s;
  series->all.wall_s += round->wall_s;
  series->all.worker_extra_s += round->worker_extra_s;
  *round = (cost_t){0};
}

static void report_times(series_t *series, report_t *report)
{
  report_percentiles(report, "lateness", series->lateness_ns, series->slots);
  report_percentiles(report, "first_lag", series->first_lag_ns, series->slots);
  report_percentiles(report, "last_lag", series->last_lag_ns, series->slots);
  report_percentiles(report, "makespan", series->makespan_ns, series->slots);
  report_number(report, "ratio_p50", percentile_us(series->ratio_ppm, series->slots, 50) * 1e-3);
  report_number(report, "ratio_p99", percentile_us(series->ratio_ppm, series->slots, 99) * 1e-3);
}

static void report_spin(const series_t *series, const bench_run_t *bench)
{
  report_t *const report = bench->report;
  const double worker_s = series->all.wall_s * bench->question->work.workers;
  report_number(report, "spin_percent", (double)series->spin_ns * 1e-7 / worker_s);
  report_number(report, "worker_extra_percent", series->all.worker_extra_s * 100 / worker_s);
  report_number(report, "spin_percent_max", series->spin_percent_max);
  report_count(report, "hits", series->hits);
  report_count(report, "preempted", series->preempted);
  report_count(report, "level_changes", series->level_changes);
  report_count(report, "lates", series->lates);
  report_count(report, "misses", series->misses);
  report_count(report, "unused", series->unused);
  report_count(report, "capped", series->capped);
}

static void report_causes(const series_t *series, report_t *report)
{
  char key[64];
  for (uint32_t i = 0; i < WS_LATE_CAUSES; i++) {
    snprintf(key, sizeof key, "late: %s", ws_late_name((ws_late_t)i));
    if (series->late_by[i] > 0)
      report_count(report, key, series->late_by[i]);
  }
}

void series_report(series_t *series, const bench_run_t *bench)
{
  report_t *const report = bench->report;
  const double slots = series->slots;
  report_text(report, "mode", series->mode->name);
  report_number(report, "lead_us", (double)series->mode->lead_ns * 1e-3);
  report_count(report, "cores", bench->cores);
  report_count(report, "helpers", bench->helpers);
  report_count(report, "slots", series->slots);
  report_count(report, "late_slots", series->late_slots);
  report_count(report, "lost_periods", series->lost_periods);
  if (series->slots == 0)
    return;
  report_number(report, "cost_us", cost_us(bench, &series->all));
  report_number(report, "lateness_mean_us", (double)series->all.lateness_ns * 1e-3 / slots);
  report_number(report, "worker_lag_mean_us", (double)series->worker_lag_ns * 1e-3 / slots);
  report_number(report, "cpu_us", series->all.cpu_s * 1e6 / slots);
  report_number(report, "work_us", (double)series->all.work_ns * 1e-3 / slots);
  report_number(report, "cpu_per_work", series->all.cpu_s * 1e9 / (double)series->all.work_ns);
  report_number(report, "bound_us", series->bound_ns * 1e-3 / slots);
  report_number(report, "wall_s", series->all.wall_s);
  report_number(report, "ctx_switches", (double)series->ctx_switches / slots);
  report_times(series, report);
  report_spin(series, bench);
  report_causes(series, report);
  report_numbers(report, "round_cost_us", series->round_cost_us, series->rounds);
  report_numbers(report, "round_lateness_us", series->round_lateness_us, series->rounds);
}
