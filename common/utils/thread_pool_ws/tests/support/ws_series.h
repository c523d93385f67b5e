// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_series.h
/// Times at which bursts come, as a radio slot pattern with jitter would have them: the same ones for the
/// same seed, on every machine.
#ifndef WS_SERIES_H
#define WS_SERIES_H

#include <stdint.h>

#define SERIES_SLOT_NS 500000u

typedef struct {
  const char *pattern; ///< a letter a slot; a burst in each 'U'
  uint64_t start_ns; ///< of slot 0
  int64_t jitter_ns; ///< each burst comes up to so much sooner or later
  double ppm; ///< the radio's clock is slower than this machine's by so much
  double present; ///< share of the bursts that come
  uint64_t random; ///< state of the random numbers
  uint64_t slot; ///< that is looked at next
  uint64_t last_ns; ///< what series_next() said last
} series_t;

/// @return WS_SEED, or always the same number; it is printed once. For properties that hold with a
/// probability only: with a fixed seed they hold or they do not
uint64_t series_seed(void);

/// @return from 0 to less than 1
double series_uniform(uint64_t *random);

/// @return a series of which all bursts come
series_t series_of(const char *pattern, int64_t jitter_ns, uint64_t seed);

/// @brief Move all that comes by @p ns.
void series_shift(series_t *series, int64_t ns);

/// @return how many bursts a period of the pattern has
uint32_t series_bursts(const series_t *series);

/// @return the time from one repetition to the next
double series_period_ns(const series_t *series);

/// @return when the next burst comes
uint64_t series_next(series_t *series);

#endif
