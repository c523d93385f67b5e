// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_model.h
/// The model of the times at which bursts come. ws_predict.h describes how the pool learns it, and ws_hold.h
/// which disturbances it survives.
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

#define WS_CLOCKS 4u

typedef struct {
  double next_ns[WS_CLOCKS]; ///< when each filter expects it next
  double period_ns[WS_CLOCKS];
  double error_ns[WS_CLOCKS]; ///< mean error lately
  double since_ns; ///< usual time since the arrival before
  double since_error_ns;
  double periods; ///< since it came last
  uint32_t exceptions; ///< arrivals of it in a row that were off by much more than usual
  double occupancy; ///< share of the periods lately in which it came
  double kept; ///< occupancy before the trouble (ws_hold.h)
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
  uint32_t confirmed; ///< arrivals that were expected since the pattern was found, up to WS_HOLD_AFTER
  uint32_t calm; ///< those since the last trouble
  uint32_t strays; ///< arrivals in a row that belonged to no phase
  uint32_t doubts; ///< arrivals in a row at which the pattern fitted badly
  uint64_t trouble_ns; ///< begin of a trouble through which the pattern is held; 0 = none
  uint32_t relocks; ///< times that the pattern was found again at another time
  uint32_t until_look, look_every; ///< arrivals until the pattern is looked for again
  ws_phase_t phase[WS_PHASES_MAX];
} ws_predict_t;

#endif
