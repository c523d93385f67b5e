// SPDX-License-Identifier: BSD-3-Clause
/// @file series.h
/// What is kept of one mode: a value for each slot, sums over its blocks, the cost of each round.
#ifndef PREWAKE_SERIES_H
#define PREWAKE_SERIES_H

#include "bench.h"
#include "usage.h"
#include "ws_stats.h"

/// Readings that mean something as differences only.
typedef struct {
  usage_t usage;
  double worker_cpu_s;
  uint64_t inject_ns, lost_periods;
  uint64_t hits, lates, misses, unused, capped, preempted, level_changes;
  uint64_t spin_ns;
  uint64_t late_by[WS_LATE_CAUSES]; ///< late starts, by cause
  uint64_t *worker_spin_ns;
} reading_t;

/// What a block, or a round's blocks, cost.
typedef struct {
  uint64_t slots, lateness_ns, work_ns;
  double cpu_s, wall_s;
  double worker_extra_s; ///< CPU time of the workers beyond their tasks
} cost_t;

typedef struct {
  const spin_mode_t *mode;
  uint32_t blocks_a_round; ///< of this mode
  uint64_t *lateness_ns, *first_lag_ns, *last_lag_ns, *makespan_ns, *ratio_ppm;
  uint32_t slots, slots_max, late_slots;
  uint64_t worker_lag_ns;
  double bound_ns;
  cost_t all, round;
  uint64_t lost_periods, ctx_switches, hits, lates, misses, unused, capped, preempted, level_changes, spin_ns;
  uint64_t late_by[WS_LATE_CAUSES];
  double spin_percent_max; ///< of one worker in one block
  double *round_cost_us, *round_lateness_us;
  uint32_t rounds;
} series_t;

bool series_open(series_t *series, const spin_mode_t *mode, uint32_t slots_max, uint32_t rounds_max);
void series_close(series_t *series);

void reading_take(reading_t *reading, bench_run_t *bench);

/// @brief Keep a slot.
void series_add_slot(series_t *series, const slot_times_t *times, bool late);

/// @brief A block lay between two readings; series_add_slot() has seen its slots.
void series_add_block(series_t *series, const bench_run_t *bench, const reading_t *begin,
                      const reading_t *end);

/// @brief The blocks since the last call were those of one round.
void series_end_round(series_t *series, const bench_run_t *bench);

/// @brief Write the mode's answer into the bench's report.
void series_report(series_t *series, const bench_run_t *bench);

#endif
