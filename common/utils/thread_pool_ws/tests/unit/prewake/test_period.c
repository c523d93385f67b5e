// SPDX-License-Identifier: BSD-3-Clause
/// @file test_period.c
/// The pattern in which bursts come: those of slot patterns with jitter, drift and missing bursts are found,
/// with their period and the number of their phases; times at random have none.
#include <math.h>
#include <string.h>

#include "../../../prewake/ws_predict.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define JITTER_NS_MAX 50000u
#define ROUNDS 400u

static const char *const known[] = {"U", "DDDDU", "DDDDDDDDUU", "DDDSUUDDSU", "DDU"};

/// @return whether a pattern with the period and as many bursts as @p series is found of @p count arrivals. Where
/// its phases lie, and how often each comes: test_predict.c, by what is predicted.
static bool finds(series_t series, uint32_t count)
{
  uint64_t arrival[WS_ARRIVALS];
  series.slot = test_random(&series.random) % 10;
  for (uint32_t i = 0; i < count; i++)
    arrival[i] = series_next(&series);
  ws_pattern_t pattern;
  return ws_period_find(arrival, count, &pattern) && pattern.bursts == series_bursts(&series)
         && fabs(pattern.period_ns - series_period_ns(&series))
                < (series.chain ? 30000 : (double)series.jitter_ns + 100);
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

/// One slot in ten is missing in the last pattern: with much jitter hardly told from a slot that comes nine times in
/// ten.
static void patterns_with_jitter_and_missing_bursts(void)
{
  static const char *const nearly_full = "UUUUUUUUUD";
  for (uint32_t i = 0; i < TEST_COUNT(known); i++) {
    CU_ASSERT_TRUE(found(known[i], 1, 10000, 32) == 1);
    CU_ASSERT_TRUE(found(known[i], 1, JITTER_NS_MAX, 32) >= 0.98);
    CU_ASSERT_TRUE(found(known[i], 1, JITTER_NS_MAX, WS_ARRIVALS) >= 0.98);
    CU_ASSERT_TRUE(found(known[i], 0.8, JITTER_NS_MAX, WS_ARRIVALS) >= 0.95);
  }
  CU_ASSERT_TRUE(found(nearly_full, 1, JITTER_NS_MAX, WS_ARRIVALS) >= 0.95);
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
    right += finds(series, WS_ARRIVALS);
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

TEST_MAIN("period", TEST_CASE(patterns_with_jitter_and_missing_bursts), TEST_CASE(few_arrivals_say_nothing),
          TEST_CASE(chains), TEST_CASE(any_times_give_a_sound_pattern_or_none))
