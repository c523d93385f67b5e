// SPDX-License-Identifier: BSD-3-Clause
/// @file test_hold.c
/// A pattern that is known well is held through late bursts, missed bursts and lost CPU time, moves with a
/// jump of the clock, and still gives way to another pattern (ws_hold.h).
#include "../../../prewake/ws_hold.h"

#include <math.h>
#include <string.h>

#include "../../../prewake/ws_predict.h"
#include "../../support/ws_series.h"
#include "../../support/ws_test.h"

#define US 1000
#define JITTER_NS (10 * US)
#define MANY (3 * WS_HOLD_AFTER)

static const char *const patterns[] = {"U", "DDDDU", "DDDDDDDDUU", "DDDSUUDDSU"};

static ws_predict_t model;
static series_t series;

/// The pattern is known well, and was for long.
static void settle(const char *slots, int64_t jitter_ns)
{
  memset(&model, 0, sizeof(model));
  series = series_of(slots, jitter_ns, series_seed());
  for (uint32_t i = 0; i < MANY; i++)
    ws_predict_arrival(&model, series_next(&series));
  CU_ASSERT_EQUAL(model.phases % series_bursts(&series), 0);
  CU_ASSERT_EQUAL(ws_predict_state(&model), WS_PATTERN_LOCKED);
}

static int64_t gap_ns(void)
{
  return (int64_t)(series_period_ns(&series) / series_bursts(&series));
}

/// @return bursts until 16 in a row were expected, to about their jitter; more than @p limit = never
static uint32_t until_exact(uint32_t limit)
{
  uint32_t good = 0, bursts = 0;
  for (; good < 16 && bursts <= limit + 16; bursts++) {
    const ws_arrived_t arrived = ws_predict_arrival(&model, series_next(&series));
    const bool exact = arrived.phase >= 0 && llabs(arrived.late_ns) <= 3 * series.jitter_ns + US;
    good = exact ? good + 1 : 0;
  }
  return bursts - good;
}

static bool is_whole(void)
{
  for (uint32_t i = 0; i < model.phases; i++)
    if (model.phase[i].occupancy < 0.9)
      return false;
  return true;
}

/// The next burst comes late, by parts of the time between two bursts.
static void one_late_burst(void)
{
  static const double parts[] = {0.1, 0.2, 0.24, 0.3, 0.45, 0.6};
  for (uint32_t i = 0; i < TEST_COUNT(patterns); i++) {
    for (uint32_t j = 0; j < 2 * TEST_COUNT(parts); j++) {
      settle(patterns[i], j % 2 ? JITTER_NS : 0);
      const uint32_t locks = model.locks;
      const uint64_t late_ns = (uint64_t)(parts[j / 2] * (double)gap_ns());
      const uint64_t at_ns = series_next(&series) + late_ns;
      ws_predict_arrival(&model, at_ns);
      uint64_t next_ns = series_next(&series);
      while (next_ns <= at_ns) // it came after the next one's time: that is this one
        next_ns = series_next(&series);
      const bool next_is_expected = ws_predict_arrival(&model, next_ns).phase >= 0;
      CU_ASSERT_TRUE(next_is_expected || i >= 2); // in a group the late one is taken for the next one
      CU_ASSERT_TRUE(until_exact(16) <= 1);
      CU_ASSERT_EQUAL(model.locks + model.relocks, locks);
      CU_ASSERT_EQUAL(ws_predict_state(&model), WS_PATTERN_LOCKED);
      CU_ASSERT_TRUE(is_whole());
    }
  }
}

/// Bursts are lost: one, five, or as many as come in 10 ms. The pattern still expects the next one exactly.
static void lost_bursts(void)
{
  static const uint32_t counts[] = {1, 2, 5, 20};
  for (uint32_t i = 0; i < TEST_COUNT(patterns); i++) {
    for (uint32_t j = 0; j < TEST_COUNT(counts); j++) {
      settle(patterns[i], JITTER_NS);
      const uint32_t locks = model.locks;
      for (uint32_t k = 0; k < counts[j]; k++)
        ws_predict_expire(&model, series_next(&series));
      CU_ASSERT_TRUE(until_exact(16) == 0);
      CU_ASSERT_EQUAL(model.locks + model.relocks, locks);
      CU_ASSERT_EQUAL(ws_predict_state(&model), WS_PATTERN_LOCKED);
      CU_ASSERT_TRUE(is_whole());
    }
  }
}

/// Bursts that were held up come all at once. They belong to no phase.
static void lost_time_that_is_caught_up(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(patterns); i++) {
    settle(patterns[i], JITTER_NS);
    const uint32_t locks = model.locks;
    uint64_t at_ns = 0;
    for (uint32_t k = 0; k < 5; k++)
      at_ns = series_next(&series);
    for (uint32_t k = 0; k < 5; k++)
      ws_predict_arrival(&model, at_ns + k * 60 * US);
    CU_ASSERT_TRUE(until_exact(16) <= 2);
    CU_ASSERT_EQUAL(model.locks, locks);
  }
}

static void late_in_a_row(uint32_t bursts)
{
  for (uint32_t i = 0; i < bursts; i++)
    CU_ASSERT_EQUAL(ws_predict_arrival(&model, series_next(&series) + (uint64_t)gap_ns() * 2 / 5).phase, -1);
}

static void ten_late_bursts_in_a_row(void)
{
  for (uint32_t i = 0; i < 2; i++) { // patterns in which no late burst has the time of another one
    settle(patterns[i], JITTER_NS);
    const uint32_t locks = model.locks;
    late_in_a_row(WS_HOLD_STRAYS);
    CU_ASSERT_EQUAL(ws_predict_state(&model), WS_PATTERN_UNCERTAIN);
    CU_ASSERT_EQUAL(until_exact(16), 0);
    CU_ASSERT_EQUAL(model.locks + model.relocks, locks);
    CU_ASSERT_EQUAL(ws_predict_state(&model), WS_PATTERN_LOCKED);
  }
}

/// A pattern that is known for a moment only is forgotten sooner.
static void what_is_new_is_not_held(void)
{
  memset(&model, 0, sizeof(model));
  series = series_of("U", JITTER_NS, series_seed());
  for (uint32_t i = 0; i < 100; i++)
    ws_predict_arrival(&model, series_next(&series));
  CU_ASSERT_EQUAL(ws_predict_state(&model), WS_PATTERN_LOCKED);
  const uint32_t locks = model.locks;
  for (uint32_t i = 0; i < WS_HOLD_STRAYS; i++)
    ws_predict_arrival(&model, series_next(&series) + (uint64_t)gap_ns() * 2 / 5);
  CU_ASSERT_TRUE(ws_predict_state(&model) == WS_PATTERN_LOST || model.locks > locks);
}

/// One of two bursts comes at another time from now on, and the other one does not.
static void one_burst_that_moves_for_good(void)
{
  settle("DDDDDDDDUU", 0);
  CU_ASSERT_EQUAL_FATAL(model.phases, 2);
  const uint32_t locks = model.locks;
  ws_arrived_t moved = {.late_ns = 0};
  for (uint32_t i = 0; i < 3 * WS_HOLD_STRAYS; i++) {
    CU_ASSERT_TRUE(llabs(ws_predict_arrival(&model, series_next(&series)).late_ns) <= US);
    moved = ws_predict_arrival(&model, series_next(&series) + 40 * US);
    CU_ASSERT_TRUE(i >= WS_HOLD_STRAYS || moved.late_ns >= 39 * US);
  }
  CU_ASSERT_TRUE(moved.phase >= 0 && llabs(moved.late_ns) <= 5 * US);
  CU_ASSERT_EQUAL(model.locks + model.relocks, locks);
}

#define PERIOD_NS (10 * 1000 * US)

/// A model of three bursts, the second of which comes so long after the first.
static void model_of_three(double second_ns)
{
  memset(&model, 0, sizeof(model));
  model.phases = 3;
  model.period_ns = PERIOD_NS;
  const double at_ns[] = {0, second_ns, PERIOD_NS / 2};
  for (uint32_t i = 0; i < 3 * WS_CLOCKS; i++) {
    model.phase[i / WS_CLOCKS].next_ns[i % WS_CLOCKS] = 7 * PERIOD_NS + at_ns[i / WS_CLOCKS];
    model.phase[i / WS_CLOCKS].period_ns[i % WS_CLOCKS] = PERIOD_NS;
  }
}

/// Two bursts come at about the same time, now one first and now the other.
static void a_pattern_is_the_same_where_its_period_ends(void)
{
  for (int64_t after_ns = -20 * US; after_ns <= 20 * US; after_ns += 40 * US) {
    model_of_three((double)-after_ns);
    const uint64_t first_ns = 5 * PERIOD_NS + 3 * PERIOD_NS / 4;
    const ws_pattern_t pattern = {
        .period_ns = PERIOD_NS,
        .bursts = 3,
        .last_ns = {first_ns, (uint64_t)((int64_t)first_ns + after_ns), first_ns - PERIOD_NS / 2}};
    CU_ASSERT_TRUE_FATAL(ws_hold_shift(&model, &pattern));
    for (uint32_t i = 0; i < 3; i++)
      CU_ASSERT_EQUAL(model.phase[i].next_ns[0], (double)(pattern.last_ns[i] + PERIOD_NS));
  }
}

/// Where several orders of the bursts would do, the nearest one is taken.
static void a_pattern_moves_by_its_best_fit(void)
{
  model_of_three(PERIOD_NS / 3.0);
  const uint64_t first_ns = 5 * PERIOD_NS;
  const ws_pattern_t pattern = {.period_ns = PERIOD_NS,
                                .bursts = 3,
                                .last_ns = {first_ns + PERIOD_NS / 2, first_ns, first_ns + PERIOD_NS / 3}};
  CU_ASSERT_TRUE_FATAL(ws_hold_shift(&model, &pattern));
  for (uint32_t i = 0; i < 3; i++)
    CU_ASSERT_EQUAL(model.phase[i].next_ns[0], (double)(pattern.last_ns[(i + 1) % 3] + PERIOD_NS));
}

/// The radio's clock is set anew: the phases move, and keep what they know.
static void a_jump_of_the_phase(void)
{
  static const double parts[] = {0.3, 0.4, 0.5, 0.7};
  for (uint32_t i = 0; i < 2; i++) {
    for (uint32_t j = 0; j < TEST_COUNT(parts); j++) {
      settle(patterns[i], JITTER_NS);
      const uint32_t locks = model.locks;
      series_shift(&series, (int64_t)(parts[j] * (double)gap_ns()));
      CU_ASSERT_TRUE(until_exact(32) <= WS_HOLD_STRAYS + 1);
      CU_ASSERT_EQUAL(model.locks, locks);
      CU_ASSERT_EQUAL(model.relocks, 1);
      CU_ASSERT_TRUE(model.phase[0].late.count == WS_WINDOW_SAMPLES && is_whole());
    }
  }
}

/// Phases in groups: which burst is which is found by the gaps between them.
static void a_jump_of_a_pattern_of_several_bursts(void)
{
  settle("DDDDDDDDUU", JITTER_NS);
  const uint32_t locks = model.locks;
  const double apart_ns = fabs(model.phase[1].next_ns[0] - model.phase[0].next_ns[0]);
  series_shift(&series, 2 * SERIES_SLOT_NS + SERIES_SLOT_NS / 2 + (int64_t)(1.5 * SERIES_SLOT_NS));
  CU_ASSERT_TRUE(until_exact(64) <= 48);
  CU_ASSERT_TRUE(fabs(fabs(model.phase[1].next_ns[0] - model.phase[0].next_ns[0]) - apart_ns) < 9 * 500 * US);
  CU_ASSERT_TRUE(model.locks <= locks + 1);
}

/// Bursts at another period: learnt, although the old one was known well.
static void a_real_change_of_the_period(void)
{
  static const double factors[] = {0.5, 0.8, 0.9, 1.1, 1.4, 2, 3, 7};
  uint32_t most = 0;
  for (uint32_t i = 0; i < TEST_COUNT(factors); i++) {
    settle("U", JITTER_NS);
    uint64_t random = series_seed();
    const double period_ns = factors[i] * SERIES_SLOT_NS;
    double at_ns = (double)series.last_ns;
    uint32_t good = 0, bursts = 0;
    for (; good < 16 && bursts < 400; bursts++) {
      at_ns += period_ns;
      const uint64_t burst_ns = (uint64_t)(at_ns + (2 * series_uniform(&random) - 1) * JITTER_NS);
      const ws_arrived_t arrived = ws_predict_arrival(&model, burst_ns);
      good = arrived.phase >= 0 && fabs(model.period_ns - period_ns) < 0.02 * period_ns ? good + 1 : 0;
    }
    most = bursts - good > most ? bursts - good : most;
    CU_ASSERT_TRUE(bursts < 200);
  }
  printf("after %u bursts at most ", most);
}

/// Bursts at random end it.
static void nothing_is_held_for_good(void)
{
  for (uint32_t i = 0; i < TEST_COUNT(patterns); i++) {
    settle(patterns[i], JITTER_NS);
    uint64_t random = series_seed();
    double at_ns = (double)series.last_ns;
    uint32_t bursts = 0;
    for (; bursts < 400 && ws_predict_state(&model) != WS_PATTERN_LOST; bursts++) {
      at_ns += 1 - log(1 - series_uniform(&random)) * (double)gap_ns();
      ws_predict_arrival(&model, (uint64_t)at_ns);
    }
    CU_ASSERT_TRUE(bursts < 400);
  }
}

/// What comes seldom now is expected seldom: the occupancy is not given back again and again.
static void a_trouble_that_stays(void)
{
  settle("U", JITTER_NS);
  for (uint32_t i = 0; i < 100; i++) {
    for (uint32_t k = 0; k < 9; k++)
      ws_predict_expire(&model, series_next(&series));
    ws_predict_arrival(&model, series_next(&series));
  }
  CU_ASSERT_TRUE(model.period_ns > 5 * SERIES_SLOT_NS || model.phase[0].occupancy < 0.3);
}

TEST_MAIN("hold", TEST_CASE(one_late_burst), TEST_CASE(lost_bursts), TEST_CASE(lost_time_that_is_caught_up),
          TEST_CASE(ten_late_bursts_in_a_row), TEST_CASE(what_is_new_is_not_held),
          TEST_CASE(one_burst_that_moves_for_good), TEST_CASE(a_pattern_is_the_same_where_its_period_ends),
          TEST_CASE(a_pattern_moves_by_its_best_fit), TEST_CASE(a_jump_of_the_phase),
          TEST_CASE(a_jump_of_a_pattern_of_several_bursts), TEST_CASE(a_real_change_of_the_period),
          TEST_CASE(nothing_is_held_for_good), TEST_CASE(a_trouble_that_stays))
