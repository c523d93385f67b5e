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

#include "../include/ws_stats.h"
#include "ws_model.h"

/// @brief Look for a pattern in @p arrivals, ascending times. Two ways:
/// bursts that all come: the smallest m for which the time from each arrival to the m-th next is always about
/// the same; bursts on a grid, not all of which come: the grid, and the smallest number of its cells after
/// which the same cells are occupied again.
/// @param count  at most WS_ARRIVALS
/// @return whether there is one. Arrivals at random (Poisson) have none
bool ws_period_find(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern);

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

/// @return when the next burst of @p phase after @p now_ns is expected
uint64_t ws_predict_next(const ws_predict_t *model, uint32_t phase, uint64_t now_ns);

/// @return the time from one burst of @p phase to its next
double ws_predict_period_ns(const ws_predict_t *model, uint32_t phase);

/// @return the soonest time at which ws_predict_expire would find something; UINT64_MAX = never
uint64_t ws_predict_due_ns(const ws_predict_t *model);

/// @return the mean time between expected bursts; 0 = no pattern is known
uint64_t ws_predict_gap_ns(const ws_predict_t *model);

/// @return the shortest usual time between two of them; 0 = no pattern is known
uint64_t ws_predict_gap_min_ns(const ws_predict_t *model);

#endif
