// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_period.h
/// Find the pattern in which bursts come: after which time it repeats, and when in it there are bursts. No
/// grid of the radio's numerology is assumed.
#ifndef WS_PERIOD_H
#define WS_PERIOD_H

#include <stdbool.h>
#include <stdint.h>

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

/// @brief Look for a pattern in @p arrivals, ascending times. Two ways:
/// bursts that all come: the smallest m for which the time from each arrival to the m-th next is always about
/// the same; bursts on a grid, not all of which come: the grid, and the smallest number of its cells after
/// which the same cells are occupied again.
/// @param count  at most WS_ARRIVALS
/// @return whether there is one. Arrivals at random (Poisson) have none
bool ws_period_find(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern);

#endif
