// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_predict.h
/// When does the next burst come? First the pattern is found (ws_period.c): after which time it repeats, and
/// when in it there are bursts. No grid of the radio's numerology is assumed. Then each burst of the pattern
/// is a phase, and each phase is followed by two kinds of predictor. The one with the least recent error is
/// used:
///
/// clock   an alpha-beta filter of time and period (Benedict and Bordner 1962: beta = alpha^2 / (2 - alpha))
/// causal  the arrival before, plus the usual time since: for bursts that follow from each other
///
/// One thread at a time; all times are CLOCK_MONOTONIC.
#ifndef WS_PREDICT_H
#define WS_PREDICT_H

#include <stdbool.h>
#include <stdint.h>

#include "../base/ws_window.h"
#include "../include/ws_stats.h"

/// Bursts in one pattern.
#define WS_PHASES_MAX 16u
/// Arrivals that are looked at.
#define WS_ARRIVALS 64u

typedef struct {
  double period_ns;
  uint32_t bursts; ///< in one period
  struct {
    uint64_t last_ns; ///< a time at which it comes, not later than the newest arrival
    double occupancy; ///< share of the periods in which it comes
  } burst[WS_PHASES_MAX]; ///< the one that came longest ago first
} ws_pattern_t;

/// @brief Look for a pattern in @p arrivals, ascending times. Two ways:
/// bursts that all come: the smallest m for which the time from each arrival to the m-th next is always about
/// the same; bursts on a grid, not all of which come: the grid, and the smallest number of its cells after
/// which the same cells are occupied again.
/// @param count  at most WS_ARRIVALS
/// @return whether there is one. Arrivals at random (Poisson) have none
bool ws_period_find(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern);

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
  uint64_t arrival_ns[WS_ARRIVALS]; ///< the last ones, ascending
  uint32_t arrivals;
  double period_ns; ///< of the pattern; 0 = none is known
  uint32_t phases;
  uint32_t locks; ///< times that a pattern was found
  uint32_t last_phase; ///< that the last arrival belonged to; phases = none
  double stray; ///< share of the arrivals lately that belonged to no phase
  double surprise; ///< share of the expectations lately that were wrong
  bool strayed; ///< the last arrival belonged to no phase
  uint32_t until_look, look_every; ///< arrivals until the pattern is looked for again
  ws_phase_t phase[WS_PHASES_MAX];
} ws_predict_t;

/// What an arrival was.
typedef struct {
  int32_t phase; ///< -1 = not expected
  int64_t late_ns; ///< it came so much after the prediction
} ws_arrived_t;

/// @brief A burst has come at @p at_ns, later than all before.
ws_arrived_t ws_predict_arrival(ws_predict_t *model, uint64_t at_ns);

/// @brief Phases that should have come well before @p now_ns have not. @return how many times
uint32_t ws_predict_expire(ws_predict_t *model, uint64_t now_ns);

/// @return how far the pattern can be relied on
ws_pattern_state_t ws_predict_state(const ws_predict_t *model);

/// @return when the next burst of @p phase is expected; if that has passed, it also comes each period later
double ws_predict_next_ns(const ws_predict_t *model, uint32_t phase);

/// @return the soonest time at which ws_predict_expire would find something; UINT64_MAX = never
uint64_t ws_predict_due_ns(const ws_predict_t *model);

/// @return the shortest usual time between two expected bursts; 0 = no pattern is known
uint64_t ws_predict_gap_min_ns(const ws_predict_t *model);

#endif
