// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_predict.c
/// When does the next burst come? Each burst of the pattern (ws_period.c) is a phase, and each phase is
/// followed by two kinds of predictor. The one with the least recent error is used:
///
/// clock   an alpha-beta filter of time and period (Benedict and Bordner 1962: beta = alpha^2 / (2 - alpha))
/// causal  the arrival before, plus the usual time since: for bursts that follow from each other
#include <math.h>

#include "ws_prewake_state.h"

/// Of the clock: the share of an arrival's deviation that counts as its time, and of the rest as its period.
#define ALPHA (1. / 16)
#define BETA (ALPHA * ALPHA / (2 - ALPHA))

/// Above this share of strays the pattern is over.
#define STRAYS_MAX 0.4
/// Above this share of wrong expectations a better pattern is looked for: one burst that is late makes two.
#define SURPRISE_MAX 0.25
/// Below this occupancy a phase counts as ended.
#define OCCUPANCY_DEAD 0.05
/// Arrivals between two searches for a pattern: while no pattern is known; while one is known, at first, and
/// at most. Searches become rarer.
#define LOOK_EVERY 4u
#define LOOK_EVERY_LOCKED 32u
#define LOOK_EVERY_MAX 256u
/// Below this occupancy a phase may be a cell of too fine a grid.
#define OCCUPANCY_LOW 0.75

/// @return the greatest distance from its time at which an arrival belongs to a phase
static double tolerance_ns(const ws_predict_t *model)
{
  return model->period_ns / model->phases / 4;
}

/// @return whether the last arrival was of the phase before
static bool is_next(const ws_predict_t *model, uint32_t phase)
{
  return model->last_phase == (phase + model->phases - 1) % model->phases;
}

double ws_predict_next_ns(const ws_predict_t *model, uint32_t phase)
{
  const ws_phase_t *expected = &model->phase[phase];
  const bool causal = is_next(model, phase) && expected->since_error_ns < expected->error_ns;
  return causal ? (double)model->arrival_ns[model->arrivals - 1] + expected->since_ns : expected->next_ns;
}

/// @return @p x less the whole multiples of @p period_ns in it: between plus and minus half of that
static double remainder_ns(double x, double period_ns)
{
  const double periods = x / period_ns;
  return x - (double)(int64_t)(periods + (periods < 0 ? -0.5 : 0.5)) * period_ns;
}

/// Follow the pattern from now on, in place of the one before.
static void lock_on(ws_predict_t *model, const ws_pattern_t *pattern)
{
  const double period_ns = pattern->period_ns;
  model->period_ns = period_ns;
  model->phases = pattern->bursts;
  model->last_phase = pattern->bursts; // none
  model->stray = model->surprise = 0;
  model->strayed = false;
  model->locks++;
  for (uint32_t i = 0; i < pattern->bursts; i++) {
    const uint64_t last_ns = pattern->burst[i].last_ns;
    const uint64_t before_ns = pattern->burst[(i + pattern->bursts - 1) % pattern->bursts].last_ns;
    const double since_ns = (double)(int64_t)(last_ns - before_ns);
    model->phase[i] = (ws_phase_t){.next_ns = (double)last_ns + period_ns,
                                   .period_ns = period_ns,
                                   .since_ns = since_ns > 0 ? since_ns : since_ns + period_ns,
                                   .periods = 1,
                                   .occupancy = pattern->burst[i].occupancy};
  }
  model->look_every = LOOK_EVERY_LOCKED;
}

/// @return whether the pattern is another than the one that is followed
static bool is_new(const ws_predict_t *model, const ws_pattern_t *pattern)
{
  if (model->phases != pattern->bursts || fabs(pattern->period_ns - model->period_ns) * 50 > model->period_ns)
    return true;
  for (uint32_t i = 0; i < pattern->bursts; i++) {
    bool known = false; // it belongs to a phase that still comes
    for (uint32_t k = 0; k < model->phases && !known; k++) {
      const double off_ns = (double)pattern->burst[i].last_ns - model->phase[k].next_ns;
      known = model->phase[k].occupancy > OCCUPANCY_DEAD
              && fabs(remainder_ns(off_ns, model->period_ns)) < tolerance_ns(model);
    }
    if (!known)
      return true;
  }
  return false;
}

/// @return whether the pattern fits badly, or bursts are missing so often that a coarser one may fit better
static bool is_doubtful(const ws_predict_t *model)
{
  for (uint32_t i = 0; i < model->phases; i++)
    if (model->phase[i].occupancy < OCCUPANCY_LOW)
      return true;
  return model->surprise >= SURPRISE_MAX;
}

/// At an arrival: look for a pattern when none is known, or when the known one does not fit well enough; not
/// before until_look arrivals.
static void look_for_pattern(ws_predict_t *model)
{
  if (model->until_look > 0) {
    model->until_look--;
    return;
  }
  if (model->phases > 0 && !is_doubtful(model))
    return;
  ws_pattern_t pattern;
  if (ws_period_find(model->arrival_ns, model->arrivals, &pattern) && is_new(model, &pattern))
    lock_on(model, &pattern);
  else if (model->phases == 0)
    model->look_every = LOOK_EVERY;
  else if (model->look_every < LOOK_EVERY_MAX)
    model->look_every *= 2;
  model->until_look = model->look_every;
}

uint32_t ws_predict_expire(ws_predict_t *model, uint64_t now_ns)
{
  uint64_t absent = 0;
  for (uint32_t i = 0; i < model->phases; i++) {
    ws_phase_t *phase = &model->phase[i];
    const double over_ns = (double)now_ns - ws_predict_next_ns(model, i) - tolerance_ns(model);
    if (over_ns <= 0)
      continue;
    const uint64_t periods = (uint64_t)(over_ns / phase->period_ns) + 1;
    absent += periods;
    phase->next_ns += (double)periods * phase->period_ns;
    phase->periods += (double)periods;
    for (uint64_t k = 0; k < periods && k < WS_ARRIVALS; k++) {
      ws_mean_follow(&phase->occupancy, 0);
      ws_mean_follow(&model->surprise, phase->occupancy > 0.5);
    }
    if (is_next(model, i))
      model->last_phase = model->phases; // it does not predict the occurrence after the next
  }
  return absent < UINT32_MAX ? (uint32_t)absent : UINT32_MAX;
}

/// The phase has come at @p at_ns, which is not in arrival_ns yet: correct both its predictors.
static void follow(ws_predict_t *model, uint32_t index, uint64_t at_ns)
{
  ws_phase_t *phase = &model->phase[index];
  // The clock may have missed whole periods in a pause: it goes on from the closest multiple.
  const double error_ns = remainder_ns((double)at_ns - phase->next_ns, phase->period_ns);
  ws_mean_follow(&phase->error_ns, fabs(error_ns));
  // Its period stays close to the pattern's, or half of that could fit as well.
  const double least_ns = 0.75 * model->period_ns, most_ns = 1.25 * model->period_ns;
  const double period_ns = phase->period_ns + BETA * error_ns / phase->periods;
  phase->period_ns = period_ns < least_ns ? least_ns : period_ns > most_ns ? most_ns : period_ns;
  phase->next_ns = (double)at_ns - (1 - ALPHA) * error_ns + phase->period_ns;
  phase->periods = 1;
  ws_mean_follow(&model->period_ns, phase->period_ns);
  if (is_next(model, index)) {
    const double since_ns = (double)(at_ns - model->arrival_ns[model->arrivals - 1]);
    ws_mean_follow(&phase->since_error_ns, fabs(since_ns - phase->since_ns));
    ws_mean_follow(&phase->since_ns, since_ns);
  }
  model->last_phase = index;
  ws_mean_follow(&phase->occupancy, 1);
  ws_mean_follow(&model->surprise, phase->occupancy < 0.5);
  ws_mean_follow(&model->stray, 0);
}

/// Follow the phase to which an arrival belongs, and note those that have not come before it. A pattern is
/// known. @return what the arrival was; its phase is -1 if it is a stray
static ws_arrived_t match(ws_predict_t *model, uint64_t at_ns)
{
  const uint32_t absent = ws_predict_expire(model, at_ns);
  uint32_t nearest = 0;
  double error_ns = HUGE_VAL;
  for (uint32_t i = 0; i < model->phases; i++) {
    const double other_ns = (double)at_ns - ws_predict_next_ns(model, i);
    if (fabs(other_ns) < fabs(error_ns)) {
      nearest = i;
      error_ns = other_ns;
    }
  }
  model->strayed = fabs(error_ns) > tolerance_ns(model);
  if (model->strayed) {
    ws_mean_follow(&model->stray, 1);
    ws_mean_follow(&model->surprise, 1);
    model->last_phase = model->phases;
    return (ws_arrived_t){.phase = -1, .absent = absent};
  }
  ws_window_add(&model->phase[nearest].errors, (int64_t)error_ns);
  follow(model, nearest, at_ns);
  return (ws_arrived_t){(int32_t)nearest, absent, (int64_t)error_ns};
}

ws_arrived_t ws_predict_arrival(ws_predict_t *model, uint64_t at_ns)
{
  const ws_arrived_t arrived = model->phases > 0 ? match(model, at_ns) : (ws_arrived_t){.phase = -1};
  if (model->arrivals == WS_ARRIVALS)
    memmove(model->arrival_ns, model->arrival_ns + 1, --model->arrivals * sizeof(at_ns));
  if (model->phases > 0 && model->stray > STRAYS_MAX) // the pattern is over: only this arrival counts
    *model = (ws_predict_t){.locks = model->locks};
  model->arrival_ns[model->arrivals++] = at_ns;
  look_for_pattern(model);
  return arrived;
}

ws_pattern_state_t ws_predict_state(const ws_predict_t *model)
{
  if (model->phases == 0)
    return WS_PATTERN_LOST;
  return model->strayed || is_doubtful(model) ? WS_PATTERN_UNCERTAIN : WS_PATTERN_LOCKED;
}

uint64_t ws_predict_due_ns(const ws_predict_t *model)
{
  double due_ns = (double)UINT64_MAX;
  for (uint32_t i = 0; i < model->phases; i++) {
    const double at_ns = ws_predict_next_ns(model, i) + tolerance_ns(model);
    due_ns = at_ns < due_ns ? at_ns : due_ns;
  }
  return due_ns < (double)UINT64_MAX ? (uint64_t)due_ns : UINT64_MAX;
}

uint64_t ws_predict_gap_min_ns(const ws_predict_t *model)
{
  double least_ns = model->period_ns;
  for (uint32_t i = 0; i < model->phases; i++)
    least_ns = model->phase[i].since_ns < least_ns ? model->phase[i].since_ns : least_ns;
  return least_ns > 0 ? (uint64_t)least_ns : 0; // below 0: two phases have passed each other
}
