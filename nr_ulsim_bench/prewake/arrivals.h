// SPDX-License-Identifier: BSD-3-Clause
/// @file arrivals.h
/// When bursts come: on the grid of a radio's slots, by a pattern, with gaps and jitter from a seeded
/// generator.
#ifndef PREWAKE_ARRIVALS_H
#define PREWAKE_ARRIVALS_H

#include "question.h"

/// A generator of 64 random bits (splitmix64).
typedef struct {
  uint64_t state;
} random_t;

uint64_t random_next(random_t *random);

/// @return a number below @p bound
uint64_t random_below(random_t *random, uint64_t bound);

typedef struct {
  const question_t *question;
  const char *pattern;
  uint64_t base_ns; ///< CLOCK_MONOTONIC of slot 0
  double slot_ns; ///< by this machine's clock
  uint64_t slot; ///< the next one; the grid goes on through all modes, so that none begins with a jump
  uint32_t pattern_slots;
  uint32_t pattern_bursts; ///< U slots in it
  uint64_t lost_periods; ///< that went by while the one before was still running
  random_t random;
} arrivals_t;

/// @brief Slot 0 begins a few slots from now.
void arrivals_begin(arrivals_t *arrivals, const question_t *question);

/// @brief Occupancy and jitter of what follows depend on @p block only: modes see the same.
void arrivals_seed(arrivals_t *arrivals, uint64_t block);

/// @brief Go to the next slot.
/// Super-periods whose begin is more than a slot ago are left out, as a radio drops what comes too late: run
/// after each other without a pause, they would show no waking at all.
/// @return when its burst comes; 0 = it has none
uint64_t arrivals_next(arrivals_t *arrivals);

/// @brief Another pattern from the next slot on; @p pattern stays the caller's.
void arrivals_set_pattern(arrivals_t *arrivals, const char *pattern);

/// @brief All slots to come lie @p shift_ns later.
void arrivals_shift(arrivals_t *arrivals, uint64_t shift_ns);

/// @return super-periods in @p duration_ms, rounded up
uint64_t arrivals_periods(const arrivals_t *arrivals, uint64_t duration_ms);

#endif
