// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_model.h
/// The model of the times at which bursts come. ws_predict.h describes how the pool learns it.
#ifndef WS_MODEL_H
#define WS_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/ws_window.h"

/// @return |x|
static inline double ws_absolute(double x)
{
  return x < 0 ? -x : x;
}

/// Bursts in one pattern.
#define WS_PHASES_MAX 16u
/// Arrivals that are looked at.
#define WS_ARRIVALS 64u

typedef struct {
  double period_ns;
  uint32_t bursts; ///< in one period
  uint64_t last_ns[WS_PHASES_MAX]; ///< a time at which each comes, none later than the newest arrival
  double occupancy[WS_PHASES_MAX]; ///< share of the periods in which the burst comes
} ws_pattern_t;

typedef struct {
  double next_ns; ///< when the clock expects it next
  double period_ns;
  double error_ns; ///< mean error of the clock lately
  double since_ns; ///< usual time since the arrival before
  double since_error_ns; ///< mean error of that
  double periods; ///< since it came last
  double occupancy; ///< share of the periods lately in which it came
  ws_window_t late; ///< arrival less prediction
} ws_phase_t;

typedef struct {
  uint64_t arrival_ns[WS_ARRIVALS]; ///< a ring, the newest before next
  uint32_t arrivals, next;
  double period_ns; ///< of the pattern; 0 = none is known
  uint32_t phases;
  uint32_t locks; ///< times that a pattern was found
  uint32_t last_phase; ///< that the last arrival belonged to; phases = none
  double stray; ///< share of the arrivals lately that belonged to no phase
  double surprise; ///< share of the expectations lately that were wrong
  uint32_t strays; ///< arrivals in a row that belonged to no phase
  uint32_t doubts; ///< arrivals in a row at which the pattern fitted badly
  uint32_t until_look, look_every; ///< arrivals until the pattern is looked for again
  ws_phase_t phase[WS_PHASES_MAX];
} ws_predict_t;

#endif
