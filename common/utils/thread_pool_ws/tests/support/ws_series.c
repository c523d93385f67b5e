// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_series.c
/// ws_series.h.
#include "ws_series.h"

#include "ws_test.h"

uint64_t series_seed(void)
{
  static uint64_t seed;
  const char *given = getenv("WS_SEED");
  if (seed == 0) {
    seed = given ? strtoull(given, NULL, 0) : 20240229;
    printf("\nWS_SEED=%llu\n", (unsigned long long)seed);
  }
  return seed;
}

double series_uniform(uint64_t *random)
{
  return (double)(test_random(random) >> 11) / 9007199254740992.; // 2^53
}

series_t series_of(const char *pattern, int64_t jitter_ns, uint64_t seed)
{
  return (series_t){.pattern = pattern,
                    .start_ns = UINT64_C(3000000000000),
                    .jitter_ns = jitter_ns,
                    .ppm = 20,
                    .present = 1,
                    .random = seed};
}

void series_shift(series_t *series, int64_t ns)
{
  series->start_ns += (uint64_t)ns;
}

uint32_t series_bursts(const series_t *series)
{
  uint32_t bursts = 0;
  for (const char *slot = series->pattern; *slot; slot++)
    bursts += *slot == 'U';
  return bursts;
}

double series_period_ns(const series_t *series)
{
  return (double)strlen(series->pattern) * SERIES_SLOT_NS * (1 + series->ppm / 1e6);
}

uint64_t series_next(series_t *series)
{
  for (;;) {
    const uint64_t slot = series->slot++;
    if (series->pattern[slot % strlen(series->pattern)] != 'U'
        || series_uniform(&series->random) >= series->present)
      continue;
    const double drift_ns = (double)slot * SERIES_SLOT_NS * series->ppm / 1e6;
    const uint64_t nominal_ns = series->start_ns + slot * SERIES_SLOT_NS + (uint64_t)(int64_t)drift_ns;
    const uint64_t jitter_ns = (uint64_t)series->jitter_ns;
    series->last_ns = nominal_ns + test_random(&series->random) % (2 * jitter_ns + 1) - jitter_ns;
    return series->last_ns;
  }
}
