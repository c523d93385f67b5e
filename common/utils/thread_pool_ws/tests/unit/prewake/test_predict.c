// SPDX-License-Identifier: BSD-3-Clause
/// @file test_predict.c
/// In which pattern bursts come, and when the next one does: as exactly as the jitter allows, again so after
/// jumps, pauses, stops and changes of the pattern, at any time of the clock; nothing is predicted of bursts
/// at random.
#include <math.h>

#include "../../../prewake/ws_prewake_state.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define US 1000
#define MS 1000000
#define JITTER_NS (30 * US)
#define MANY 2000u ///< bursts until all has settled

static const char *const pattern[] = {"U", "DDDDU", "DDDDDDDDUU", "DDDSUUDDSU", "DDU"};

/// The results of some bursts.
typedef struct {
  uint32_t bursts, expected;
  double error_ns; ///< mean of those that were expected
} outcome_t;

static outcome_t feed(ws_predict_t *model, series_t *series, uint32_t bursts)
{
  outcome_t outcome = {.bursts = bursts};
  double sum = 0;
  for (uint32_t i = 0; i < bursts; i++) {
    const ws_arrived_t arrived = ws_predict_arrival(model, series_next(series));
    if (arrived.phase < 0)
      continue;
    outcome.expected++;
    sum += fabs((double)arrived.error_ns);
  }
  outcome.error_ns = outcome.expected ? sum / outcome.expected : 0;
  return outcome;
}

/// The pattern, or a multiple of it, is known.
static bool is_locked(const ws_predict_t *model, const series_t *series)
{
  if (model->phases == 0)
    return false;
  const double gap_ns = series_period_ns(series) / series_bursts(series);
  return fabs(model->period_ns / model->phases - gap_ns) < 0.02 * gap_ns;
}

/// The mean deviation of what is uniform in +-jitter is half of it; nothing can predict better.
static bool is_exact(const outcome_t *outcome, int64_t jitter_ns)
{
  const bool exact =
      outcome->expected == outcome->bursts && outcome->error_ns < 1.12 * (double)jitter_ns / 2 + 30;
  if (!exact)
    printf("\n  %u of %u expected, mean error %.0f ns, jitter +-%ld ns ", outcome->expected, outcome->bursts,
           outcome->error_ns, (long)jitter_ns);
  return exact;
}

/// Until each burst is expected again, and exactly; the pattern may be known with a phase that comes no more,
/// or as twice the shortest. @return bursts that it took, or more than @p limit
static uint32_t until_exact(ws_predict_t *model, series_t *series, uint32_t limit)
{
  for (uint32_t bursts = 0; bursts <= limit; bursts += 16) {
    const outcome_t outcome = feed(model, series, 16);
    if (outcome.expected == 16 && outcome.error_ns < 1.5 * (double)series->jitter_ns / 2 + 30)
      return bursts;
  }
  return limit + 1;
}

static ws_predict_t model;
static series_t series;

static void settle(const char *slots, int64_t jitter_ns, uint64_t seed)
{
  memset(&model, 0, sizeof(model));
  series = series_of(slots, jitter_ns, seed);
  CU_ASSERT_TRUE(until_exact(&model, &series, 200) <= 200);
  feed(&model, &series, MANY);
}

/// Known after few bursts, and then as exactly as the jitter allows.
TEST_CASE(as_exactly_as_the_jitter_allows)
{
  for (uint32_t i = 0; i < TEST_COUNT(pattern); i++) {
    memset(&model, 0, sizeof(model));
    series = series_of(pattern[i], 10 * US, series_seed());
    feed(&model, &series, 16);
    CU_ASSERT_TRUE(is_locked(&model, &series));
    CU_ASSERT_EQUAL(feed(&model, &series, 16).expected, 16);
    for (int64_t jitter_ns = 0; jitter_ns <= 50 * US; jitter_ns += 10 * US) {
      settle(pattern[i], jitter_ns, series_seed() + i);
      const outcome_t outcome = feed(&model, &series, MANY);
      CU_ASSERT_TRUE(is_exact(&outcome, jitter_ns) && is_locked(&model, &series));
      CU_ASSERT_TRUE(model.locks <= 2);
    }
  }
}

/// Whatever the clock's time: in a double its nanoseconds are not lost. The radio's clock is another: the
/// prediction neither lags nor runs away.
TEST_CASE(uptime_and_drift_leave_no_bias)
{
  static const struct {
    const char *pattern;
    uint64_t start_ns;
    int64_t jitter_ns;
    double ppm, bias_ns_max;
  } rows[] = {{"DDDSUUDDSU", 5 * MS, 0, 20, 5},
              {"DDDSUUDDSU", UINT64_C(4320000000000000), 0, 20, 5}, // 50 days
              {"DDDSUUDDSU", UINT64_C(8640000000000000), 0, 20, 5},
              {"DDDDU", UINT64_C(3000000000000), 10 * US, -50, 500},
              {"DDDDU", UINT64_C(3000000000000), 10 * US, 0, 500},
              {"DDDDU", UINT64_C(3000000000000), 10 * US, 50, 500}};
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++) {
    memset(&model, 0, sizeof(model));
    series = series_of(rows[i].pattern, rows[i].jitter_ns, series_seed());
    series.start_ns = rows[i].start_ns;
    series.ppm = rows[i].ppm;
    feed(&model, &series, MANY);
    double sum = 0;
    for (uint32_t k = 0; k < MANY; k++) {
      const ws_arrived_t arrived = ws_predict_arrival(&model, series_next(&series));
      CU_ASSERT_TRUE(arrived.phase >= 0);
      sum += rows[i].jitter_ns ? (double)arrived.error_ns : fabs((double)arrived.error_ns);
    }
    CU_ASSERT_TRUE(fabs(sum / MANY) < rows[i].bias_ns_max);
  }
}

TEST_CASE(another_pattern)
{
  for (uint32_t from = 0; from < TEST_COUNT(pattern); from++) {
    for (uint32_t to = 0; to < TEST_COUNT(pattern); to++) {
      settle(pattern[from], JITTER_NS, series_seed() + from);
      const uint64_t now_ns = series.last_ns;
      series = series_of(pattern[to], JITTER_NS, series_seed());
      series.start_ns = now_ns + SERIES_SLOT_NS + JITTER_NS;
      const uint32_t took = until_exact(&model, &series, 400);
      CU_ASSERT_TRUE(took <= 400);
      if (took > 400)
        printf("\n  from %s to %s ", pattern[from], pattern[to]);
    }
  }
}

/// The phase jumps, or nothing comes for a while and then all goes on: whether in step or not, whether a
/// prediction was asked for meanwhile.
TEST_CASE(jumps_and_pauses)
{
  static const struct {
    int64_t shift_ns;
    uint32_t limit; ///< bursts until all is exact again
  } rows[] = {{100 * US, 160},
              {-100 * US, 160},
              {200 * US, 160},
              {5 * MS, 160},
              {5200 * US, 160},
              {17 * MS + 300 * US, 160},
              {20 * MS, 240},
              {INT64_C(1000) * MS, 240},
              {INT64_C(10000) * MS + 137 * US, 240},
              {INT64_C(3600000) * MS, 240}};
  for (uint32_t i = 0; i < TEST_COUNT(pattern); i++) {
    for (uint32_t j = 0; j < 2 * TEST_COUNT(rows); j++) {
      const int64_t shift_ns = rows[j / 2].shift_ns;
      settle(pattern[i], JITTER_NS, series_seed() + j);
      if (j % 2 == 1 && shift_ns > 0)
        ws_predict_expire(&model, series.last_ns + (uint64_t)shift_ns / 2);
      series_shift(&series, shift_ns);
      const uint32_t took = until_exact(&model, &series, rows[j / 2].limit);
      CU_ASSERT_TRUE(took <= rows[j / 2].limit);
      if (took > rows[j / 2].limit)
        printf("\n  %s, %.0f ms ", pattern[i], (double)shift_ns / MS);
      feed(&model, &series, MANY);
      const outcome_t outcome = feed(&model, &series, MANY);
      CU_ASSERT_TRUE(is_exact(&outcome, JITTER_NS));
    }
  }
}

TEST_CASE(who_stays_away_is_not_expected)
{
  settle("DDDSUUDDSU", JITTER_NS, series_seed());
  double before = 1;
  uint32_t absent = 0;
  for (uint32_t period = 1; period <= 64; period++) {
    const uint64_t now_ns = series.last_ns + (uint64_t)(period * series_period_ns(&series));
    absent += ws_predict_expire(&model, now_ns);
    CU_ASSERT_TRUE(model.phase[1].occupancy <= before);
    before = model.phase[1].occupancy;
  }
  CU_ASSERT_TRUE(absent >= 3 * 63 && absent <= 3 * 64);
  for (uint32_t i = 0; i < model.phases; i++)
    CU_ASSERT_TRUE(model.phase[i].occupancy < 0.02);
  series_shift(&series, (int64_t)(64 * series_period_ns(&series)));
  feed(&model, &series, 3 * 64);
  for (uint32_t i = 0; i < model.phases; i++)
    CU_ASSERT_TRUE(model.phase[i].occupancy > 0.95);
}

/// A fifth of the bursts is missing.
TEST_CASE(how_often_each_comes)
{
  for (uint32_t i = 0; i < TEST_COUNT(pattern); i++) {
    memset(&model, 0, sizeof(model));
    series = series_of(pattern[i], JITTER_NS, series_seed());
    series.present = 0.8;
    feed(&model, &series, MANY);
    const uint32_t locks = model.locks;
    double sum = 0, error_ns = 0;
    uint32_t expected = 0;
    for (uint32_t k = 0; k < MANY; k++) {
      const ws_arrived_t arrived = ws_predict_arrival(&model, series_next(&series));
      expected += arrived.phase >= 0;
      error_ns += fabs((double)arrived.error_ns);
      for (uint32_t phase = 0; phase < model.phases; phase++)
        sum += model.phase[phase].occupancy / model.phases;
    }
    CU_ASSERT_TRUE(expected >= 0.99 * MANY);
    CU_ASSERT_TRUE(error_ns / MANY < 1.2 * JITTER_NS / 2);
    CU_ASSERT_TRUE(fabs(sum / MANY - 0.8) < 0.05);
    CU_ASSERT_TRUE(locks <= 8 && model.locks - locks <= 2);
    printf("\n  %-10s: %u expected, mean error %.0f ns, occupancy %.3f, %u + %u locks ", pattern[i], expected,
           error_ns / MANY, sum / MANY, locks, model.locks - locks);
  }
}

/// Poisson arrivals: at most a handful of starts look like a pattern for a moment, and that is over soon.
TEST_CASE(bursts_at_random_have_no_pattern)
{
  uint64_t random = series_seed();
  uint32_t locks = 0, locked = 0, expected = 0;
  for (uint32_t round = 0; round < 1000; round++) {
    double at_ns = 1e12;
    memset(&model, 0, sizeof(model));
    for (uint32_t i = 0; i < 300; i++) {
      at_ns += 1 - log(1 - series_uniform(&random)) * SERIES_SLOT_NS;
      expected += ws_predict_arrival(&model, (uint64_t)at_ns).phase >= 0;
    }
    locks += model.locks;
    locked += model.phases > 0;
  }
  printf("%u locks in 1000 starts, %u of 300000 bursts expected ", locks, expected);
  CU_ASSERT_TRUE(locks <= 3);
  CU_ASSERT_TRUE(expected <= 60);
  CU_ASSERT_EQUAL(locked, 0);
}

/// Every slot becomes every n-th: the grid of before still explains all of them, but too much else.
TEST_CASE(too_fine_a_grid_is_left)
{
  static const uint32_t every[] = {2, 3, 5, 8, 12};
  for (uint32_t i = 0; i < TEST_COUNT(every); i++) {
    uint64_t now_ns = 1000 * SERIES_SLOT_NS;
    model = (ws_predict_t){0};
    for (uint32_t burst = 0; burst < 200; burst++)
      ws_predict_arrival(&model, now_ns += SERIES_SLOT_NS);
    for (uint32_t burst = 0; burst < 600; burst++)
      ws_predict_arrival(&model, now_ns += every[i] * SERIES_SLOT_NS);
    CU_ASSERT_EQUAL(model.phases, 1);
    CU_ASSERT_TRUE(fabs(model.period_ns - every[i] * (double)SERIES_SLOT_NS) < 1000);
  }
}

/// However they fall, what is found lies within what was given.
TEST_CASE(any_times_give_a_sound_pattern_or_none)
{
  uint64_t random = test_seed();
  uint32_t unsound = 0, none = 0;
  for (uint32_t round = 0; round < 5000; round++) {
    uint64_t arrival[WS_ARRIVALS], at_ns = UINT64_C(1) << (35 + test_random(&random) % 18);
    const uint32_t count = (uint32_t)(test_random(&random) % (WS_ARRIVALS + 1));
    const uint32_t bits = 1 + (uint32_t)(test_random(&random) % 24);
    for (uint32_t i = 0; i < count; i++)
      arrival[i] = at_ns += 1 + (test_random(&random) >> (64 - bits));
    ws_pattern_t result;
    if (!ws_period_find(arrival, count, &result)) {
      none++;
      continue;
    }
    unsound += !(result.period_ns > 0) || result.bursts < 1 || result.bursts > WS_PHASES_MAX;
    for (uint32_t i = 0; i < result.bursts && i < WS_PHASES_MAX; i++)
      unsound += result.burst[i].last_ns > at_ns || !(result.burst[i].occupancy > 0)
                 || result.burst[i].occupancy > 1;
  }
  CU_ASSERT_EQUAL(unsound, 0);
  CU_ASSERT_TRUE(none > 4000);
}

TEST_MAIN("predict")
