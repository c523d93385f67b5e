// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_series.c
/// Figures of a series of slots.
#include <stdio.h>
#include <stdlib.h>

#include "sim_bursts.h"

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/// As the benchmark takes it: between the two neighbours.
static double percentile(double *values, uint32_t count, double share)
{
  if (count == 0)
    return 0;
  qsort(values, count, sizeof(double), compare);
  const double at = share * (count - 1);
  const uint32_t below = (uint32_t)at;
  const uint32_t above = below + 1 < count ? below + 1 : below;
  return values[below] + (values[above] - values[below]) * (at - below);
}

/// @return how many values are not negative; those come first
static uint32_t keep(double *values, uint32_t count)
{
  uint32_t kept = 0;
  for (uint32_t i = 0; i < count; i++)
    if (values[i] >= 0)
      values[kept++] = values[i];
  return kept;
}

void sim_series_print(sim_series_t *series, const char *more)
{
  const double slots = series->slots;
  const uint32_t starts = keep(series->start_us, series->slots);
  printf("{\"simulated\": true, \"slots\": %u, \"p50_us\": %.3f, \"p99_us\": %.3f, \"bound_us\": %.3f, "
         "\"whole_us\": %.3f, ",
         series->slots, percentile(series->makespan_us, series->slots, 0.5),
         percentile(series->makespan_us, series->slots, 0.99), series->bound_us / slots,
         series->whole_us / slots);
  if (starts > 0)
    printf("\"start_lag_us\": %.3f, ", percentile(series->start_us, starts, 0.5));
  if (series->work_us > 0)
    printf("\"cpu_per_work\": %.4f, ", series->busy_us / series->work_us);
  printf(
      "\"full_us\": %.3f, \"wakes\": %.3f, \"preempted\": %.4f, \"cpu_us\": %.3f, \"tasks_per_s\": %.0f%s}\n",
      percentile(series->full_us, series->slots, 0.5), series->wakes / slots, series->preempted / slots,
      series->busy_us / slots, series->tasks / series->wall_us * 1e6, more);
}
