// SPDX-License-Identifier: BSD-3-Clause
/// @file test_period.c
/// The pattern in which bursts come: those of slot patterns with jitter, drift and missing bursts are found,
/// with their period, their phases and how often each comes; times at random have none.
#include <math.h>
#include <string.h>

#include "../../../prewake/ws_predict.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define JITTER_NS_MAX 50000u
#define ROUNDS 400u

static const char *const known[] = {"U", "DDDDU", "DDDDDDDDUU", "DDDSUUDDSU", "DDU"};
/// One slot in ten is missing: with much jitter hardly told from a slot that comes nine times in ten.
static const char *const nearly_full = "UUUUUUUUUD";

/// @return how far @p at_ns is from the nearest slot of the series that has a burst
static double off_slot_ns(const series_t *series, uint64_t at_ns)
{
  const double slot_ns = SERIES_SLOT_NS * (1 + series->ppm / 1e6);
  const double slot = (double)(int64_t)(at_ns - series->start_ns) / slot_ns;
  double off_ns = 1e18;
  const uint64_t near = (uint64_t)(slot + 0.5);
  for (uint64_t i = near - (near > 0); i <= near + 1; i++)
    if (series->pattern[i % strlen(series->pattern)] == 'U')
      off_ns = fmin(off_ns, fabs(slot - (double)i) * slot_ns);
  return off_ns;
}

/// Phases are those of the series, each once.
static bool phases_are_right(const series_t *series, const ws_pattern_t *pattern, double tolerance_ns)
{
  for (uint32_t i = 0; i < pattern->bursts; i++) {
    if (off_slot_ns(series, pattern->last_ns[i]) > tolerance_ns)
      return false;
    for (uint32_t j = 0; j < i; j++)
      if (fabs((double)(int64_t)(pattern->last_ns[i] - pattern->last_ns[j])) < SERIES_SLOT_NS / 2.)
        return false;
  }
  return true;
}

static double mean_occupancy(const ws_pattern_t *pattern)
{
  double sum = 0;
  for (uint32_t i = 0; i < pattern->bursts; i++)
    sum += pattern->occupancy[i];
  return sum / pattern->bursts;
}

/// @return whether the pattern of @p count arrivals of @p series is found, and right
static bool finds(series_t series, uint32_t count)
{
  uint64_t arrival[WS_ARRIVALS];
  series.slot = test_random(&series.random) % 10;
  for (uint32_t i = 0; i < count; i++)
    arrival[i] = series_next(&series);
  ws_pattern_t pattern;
  if (!ws_period_find(arrival, count, &pattern) || pattern.bursts != series_bursts(&series))
    return false;
  const double tolerance_ns = 2 * (double)series.jitter_ns + 2000;
  return fabs(pattern.period_ns - series_period_ns(&series)) < (double)series.jitter_ns + 100
         && phases_are_right(&series, &pattern, tolerance_ns)
         && fabs(mean_occupancy(&pattern) - series.present) < 0.25;
}

/// @return in what share of ROUNDS series with jitters up to @p jitter_ns the pattern is found
static double found(const char *pattern, double present, uint32_t jitter_ns, uint32_t count)
{
  uint64_t random = series_seed();
  uint32_t right = 0;
  for (uint32_t i = 0; i < ROUNDS; i++) {
    const int64_t jitter = (int64_t)(test_random(&random) % (jitter_ns + 1));
    series_t series = series_of(pattern, jitter, test_random(&random));
    series.present = present;
    right += finds(series, count);
  }
  printf("\n  %-10s %3.0f %% present, jitter <= %2u us, %u arrivals: %u of %u ", pattern, 100 * present,
         jitter_ns / 1000, count, right, ROUNDS);
  return (double)right / ROUNDS;
}

static void patterns_that_all_come(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(known); i++) {
    CU_ASSERT_TRUE(found(known[i], 1, 10000, 32) == 1);
    CU_ASSERT_TRUE(found(known[i], 1, JITTER_NS_MAX, 32) >= 0.98);
    CU_ASSERT_TRUE(found(known[i], 1, JITTER_NS_MAX, WS_ARRIVALS) >= 0.98);
  }
  CU_ASSERT_TRUE(found(nearly_full, 1, JITTER_NS_MAX, WS_ARRIVALS) >= 0.95);
}

static void patterns_of_which_a_fifth_is_missing(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(known); i++) {
    CU_ASSERT_TRUE(found(known[i], 0.8, 10000, WS_ARRIVALS) >= 0.95);
    CU_ASSERT_TRUE(found(known[i], 0.8, JITTER_NS_MAX, WS_ARRIVALS) >= 0.95);
  }
  CU_ASSERT_TRUE(found(nearly_full, 0.8, JITTER_NS_MAX, WS_ARRIVALS) >= 0.5);
}

static void few_arrivals_say_nothing(void)
{
  series_t series = series_of("U", 0, series_seed());
  uint64_t arrival[WS_ARRIVALS];
  ws_pattern_t pattern;
  for (uint32_t count = 0; count < 5; count++) {
    arrival[count] = series_next(&series);
    CU_ASSERT_FALSE(ws_period_find(arrival, count, &pattern));
  }
}

/// Bursts of which each but the first follows from the one before.
static void chains(void)
{
  uint64_t random = series_seed();
  uint32_t right = 0;
  for (uint32_t round = 0; round < ROUNDS; round++) {
    series_t series = series_of(known[round % TEST_COUNT(known)], 10000, test_random(&random));
    series.chain = 1 + (uint32_t)(test_random(&random) % 3);
    series.chain_ns = 60000 + (int64_t)(test_random(&random) % 40000);
    series.chain_jitter_ns = 4000;
    uint64_t arrival[WS_ARRIVALS];
    for (uint32_t i = 0; i < WS_ARRIVALS; i++)
      arrival[i] = series_next(&series);
    ws_pattern_t pattern;
    const bool found_it = ws_period_find(arrival, WS_ARRIVALS, &pattern);
    right += found_it && pattern.bursts == series_bursts(&series)
             && fabs(pattern.period_ns - series_period_ns(&series)) < 30000;
  }
  printf("%u of %u ", right, ROUNDS);
  CU_ASSERT_TRUE(right >= 0.98 * ROUNDS);
}

/// However they fall, what is found lies within what was given.
static void any_times_give_a_sound_pattern_or_none(void)
{
  uint64_t random = test_seed();
  uint32_t unsound = 0, none = 0;
  for (uint32_t round = 0; round < 5000; round++) {
    uint64_t arrival[WS_ARRIVALS], at_ns = UINT64_C(1) << (35 + test_random(&random) % 18);
    const uint32_t count = (uint32_t)(test_random(&random) % (WS_ARRIVALS + 1));
    const uint32_t bits = 1 + (uint32_t)(test_random(&random) % 24);
    for (uint32_t i = 0; i < count; i++)
      arrival[i] = at_ns += 1 + (test_random(&random) >> (64 - bits));
    ws_pattern_t pattern;
    if (!ws_period_find(arrival, count, &pattern)) {
      none++;
      continue;
    }
    unsound += !(pattern.period_ns > 0) || pattern.bursts < 1 || pattern.bursts > WS_PHASES_MAX;
    for (uint32_t i = 0; i < pattern.bursts && i < WS_PHASES_MAX; i++)
      unsound += pattern.last_ns[i] > at_ns || !(pattern.occupancy[i] > 0) || pattern.occupancy[i] > 1;
  }
  CU_ASSERT_EQUAL(unsound, 0);
  CU_ASSERT_TRUE(none > 4000);
}

TEST_MAIN("period", TEST_CASE(patterns_that_all_come), TEST_CASE(patterns_of_which_a_fifth_is_missing),
          TEST_CASE(few_arrivals_say_nothing), TEST_CASE(chains),
          TEST_CASE(any_times_give_a_sound_pattern_or_none))
