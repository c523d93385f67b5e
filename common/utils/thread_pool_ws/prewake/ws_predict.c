// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_predict.c
/// ws_predict.h.
#include "ws_predict.h"

#include <string.h>

/// Of the clock: the share of an arrival's deviation that counts as its time, and of the rest as its period.
#define ALPHA (1. / 16)
#define BETA (ALPHA * ALPHA / (2 - ALPHA))

/// So many strays in a row mean that the pattern is over.
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

static uint64_t newest(const ws_predict_t *model)
{
  return model->arrival_ns[(model->next + WS_ARRIVALS - 1) % WS_ARRIVALS];
}

static void remember(ws_predict_t *model, uint64_t at_ns)
{
  model->arrival_ns[model->next] = at_ns;
  model->next = (model->next + 1) % WS_ARRIVALS;
  if (model->arrivals < WS_ARRIVALS)
    model->arrivals++;
}

static uint32_t before(const ws_predict_t *model, uint32_t phase)
{
  return (phase + model->phases - 1) % model->phases;
}

/// @return whether the arrival before this one has just been seen, and predicts better than the clock
static bool is_causal(const ws_predict_t *model, uint32_t index)
{
  const ws_phase_t *phase = &model->phase[index];
  return model->last_phase == before(model, index) && phase->since_error_ns < phase->error_ns;
}

static double predicted_ns(const ws_predict_t *model, uint32_t index)
{
  const ws_phase_t *phase = &model->phase[index];
  if (is_causal(model, index))
    return (double)newest(model) + phase->since_ns;
  return phase->next_ns;
}

/// @return @p x less the whole multiples of @p period_ns in it: between plus and minus half of that
static double remainder_ns(double x, double period_ns)
{
  const double periods = x / period_ns;
  return x - (double)(int64_t)(periods + (periods < 0 ? -0.5 : 0.5)) * period_ns;
}

static void start_phase(ws_phase_t *phase, const ws_pattern_t *pattern, uint32_t index)
{
  const uint32_t previous = (index + pattern->bursts - 1) % pattern->bursts;
  const double since = (double)(int64_t)(pattern->last_ns[index] - pattern->last_ns[previous]);
  memset(phase, 0, sizeof(*phase));
  phase->next_ns = (double)pattern->last_ns[index] + pattern->period_ns;
  phase->period_ns = pattern->period_ns;
  phase->since_ns = since > 0 ? since : since + pattern->period_ns;
  phase->occupancy = pattern->occupancy[index];
  phase->periods = 1;
}

/// Phases in the order in which they come: the first is the one that came longest ago.
static void sort(ws_pattern_t *pattern)
{
  for (uint32_t i = 1; i < pattern->bursts; i++) {
    for (uint32_t j = i; j > 0 && pattern->last_ns[j] < pattern->last_ns[j - 1]; j--) {
      const uint64_t last_ns = pattern->last_ns[j];
      const double occupancy = pattern->occupancy[j];
      pattern->last_ns[j] = pattern->last_ns[j - 1];
      pattern->occupancy[j] = pattern->occupancy[j - 1];
      pattern->last_ns[j - 1] = last_ns;
      pattern->occupancy[j - 1] = occupancy;
    }
  }
}

static void lock(ws_predict_t *model, ws_pattern_t *pattern)
{
  sort(pattern);
  model->period_ns = pattern->period_ns;
  model->phases = pattern->bursts;
  model->last_phase = pattern->bursts; // none
  model->stray = model->surprise = 0;
  model->strays = model->doubts = 0;
  model->locks++;
  for (uint32_t i = 0; i < pattern->bursts; i++)
    start_phase(&model->phase[i], pattern, i);
  model->until_look = model->look_every = LOOK_EVERY_LOCKED;
}

/// @return whether bursts are missing so often that a coarser pattern may fit better
static bool is_sparse(const ws_predict_t *model)
{
  for (uint32_t i = 0; i < model->phases; i++)
    if (model->phase[i].occupancy < OCCUPANCY_LOW)
      return true;
  return false;
}

static void unlock(ws_predict_t *model)
{
  const uint64_t last_ns = newest(model);
  model->phases = 0;
  model->period_ns = 0;
  model->arrivals = model->next = 0;
  model->until_look = model->look_every = 0;
  remember(model, last_ns);
}

/// @return whether a burst at @p at_ns would belong to no phase that still comes
static bool is_elsewhere(const ws_predict_t *model, uint64_t at_ns)
{
  for (uint32_t i = 0; i < model->phases; i++) {
    const double off_ns = (double)at_ns - model->phase[i].next_ns;
    if (model->phase[i].occupancy > OCCUPANCY_DEAD
        && ws_absolute(remainder_ns(off_ns, model->period_ns)) < tolerance_ns(model))
      return false;
  }
  return true;
}

/// @return whether the pattern is another than the one that is followed
static bool is_new(const ws_predict_t *model, const ws_pattern_t *pattern)
{
  if (model->phases != pattern->bursts
      || ws_absolute(pattern->period_ns - model->period_ns) * 50 > model->period_ns)
    return true;
  for (uint32_t i = 0; i < pattern->bursts; i++)
    if (is_elsewhere(model, pattern->last_ns[i]))
      return true;
  return false;
}

/// @return whether the arrivals have a pattern
static bool find(const ws_predict_t *model, ws_pattern_t *pattern)
{
  uint64_t arrivals[WS_ARRIVALS];
  for (uint32_t i = 0; i < model->arrivals; i++)
    arrivals[i] = model->arrival_ns[(model->next + WS_ARRIVALS - model->arrivals + i) % WS_ARRIVALS];
  return ws_period_find(arrivals, model->arrivals, pattern);
}

/// Look for a pattern when none is known, or when the known one does not fit well enough.
static void look(ws_predict_t *model)
{
  if (model->until_look > 0) {
    model->until_look--;
    return;
  }
  if (model->phases > 0 && model->doubts == 0)
    return;
  ws_pattern_t pattern;
  const bool found = find(model, &pattern);
  if (found && (model->phases == 0 || is_new(model, &pattern)))
    lock(model, &pattern);
  else
    model->look_every = model->phases == 0 ? LOOK_EVERY : model->look_every * 2;
  if (model->look_every > LOOK_EVERY_MAX)
    model->look_every = LOOK_EVERY_MAX;
  model->until_look = model->look_every;
}

/// Move a phase on by @p periods, in which it did not come.
static void skip(ws_predict_t *model, ws_phase_t *phase, uint64_t periods)
{
  phase->next_ns += (double)periods * phase->period_ns;
  phase->periods += (double)periods;
  for (uint64_t i = 0; i < periods && i < WS_ARRIVALS; i++) {
    ws_mean_follow(&phase->occupancy, 0);
    ws_mean_follow(&model->surprise, phase->occupancy > 0.5);
  }
}

uint32_t ws_predict_expire(ws_predict_t *model, uint64_t now_ns)
{
  uint64_t absent = 0;
  for (uint32_t i = 0; i < model->phases; i++) {
    ws_phase_t *phase = &model->phase[i];
    const double over_ns = (double)now_ns - predicted_ns(model, i) - tolerance_ns(model);
    if (over_ns <= 0)
      continue;
    const uint64_t periods = (uint64_t)(over_ns / phase->period_ns) + 1;
    skip(model, phase, periods);
    absent += periods;
    if (model->last_phase == before(model, i))
      model->last_phase = model->phases; // it does not predict the occurrence after the next
  }
  return absent < UINT32_MAX ? (uint32_t)absent : UINT32_MAX;
}

/// How well does the pattern still fit?
static void judge(ws_predict_t *model)
{
  model->doubts = model->surprise >= SURPRISE_MAX || is_sparse(model) ? model->doubts + 1 : 0;
  if (model->stray > STRAYS_MAX)
    unlock(model);
}

/// @return @p x, but at least @p least and at most @p most
static double clamp(double x, double least, double most)
{
  return x < least ? least : x > most ? most : x;
}

/// The clock may have lost whole periods in a pause: it goes on from the closest multiple. Its period stays
/// close to the pattern's, or half of that could fit as well.
static void correct(ws_phase_t *phase, uint64_t at_ns, double pattern_ns)
{
  const double error_ns = remainder_ns((double)at_ns - phase->next_ns, phase->period_ns);
  const double period_ns = phase->period_ns + BETA * error_ns / phase->periods;
  ws_mean_follow(&phase->error_ns, ws_absolute(error_ns));
  phase->period_ns = clamp(period_ns, 0.75 * pattern_ns, 1.25 * pattern_ns);
  phase->next_ns = (double)at_ns - (1 - ALPHA) * error_ns + phase->period_ns;
  phase->periods = 1;
}

static void learn(ws_predict_t *model, uint32_t index, uint64_t at_ns)
{
  ws_phase_t *phase = &model->phase[index];
  correct(phase, at_ns, model->period_ns);
  ws_mean_follow(&model->period_ns, phase->period_ns);
  if (model->last_phase == before(model, index)) {
    const double since_ns = (double)(at_ns - newest(model));
    ws_mean_follow(&phase->since_error_ns, ws_absolute(since_ns - phase->since_ns));
    ws_mean_follow(&phase->since_ns, since_ns);
  }
  model->last_phase = index;
  ws_mean_follow(&phase->occupancy, 1);
  ws_mean_follow(&model->surprise, phase->occupancy < 0.5);
  ws_mean_follow(&model->stray, 0);
}

static uint32_t nearest(const ws_predict_t *model, uint64_t at_ns)
{
  uint32_t best = 0;
  double least_ns = ws_absolute((double)at_ns - predicted_ns(model, 0));
  for (uint32_t i = 1; i < model->phases; i++) {
    const double off_ns = ws_absolute((double)at_ns - predicted_ns(model, i));
    best = off_ns < least_ns ? i : best;
    least_ns = off_ns < least_ns ? off_ns : least_ns;
  }
  return best;
}

static ws_arrived_t match(ws_predict_t *model, uint64_t at_ns)
{
  ws_predict_expire(model, at_ns);
  const uint32_t index = nearest(model, at_ns);
  const double late_ns = (double)at_ns - predicted_ns(model, index);
  if (ws_absolute(late_ns) > tolerance_ns(model)) {
    model->strays++;
    ws_mean_follow(&model->stray, 1);
    ws_mean_follow(&model->surprise, 1);
    model->last_phase = model->phases;
    return (ws_arrived_t){.phase = -1};
  }
  model->strays = 0;
  ws_window_add(&model->phase[index].late, (int64_t)late_ns);
  learn(model, index, at_ns);
  return (ws_arrived_t){.phase = (int32_t)index, .late_ns = (int64_t)late_ns};
}

ws_arrived_t ws_predict_arrival(ws_predict_t *model, uint64_t at_ns)
{
  const ws_arrived_t arrived = model->phases > 0 ? match(model, at_ns) : (ws_arrived_t){.phase = -1};
  remember(model, at_ns);
  if (model->phases > 0)
    judge(model);
  look(model);
  return arrived;
}

ws_pattern_state_t ws_predict_state(const ws_predict_t *model)
{
  if (model->phases == 0)
    return WS_PATTERN_LOST;
  return model->strays > 0 || model->doubts > 0 ? WS_PATTERN_UNCERTAIN : WS_PATTERN_LOCKED;
}

uint64_t ws_predict_next(const ws_predict_t *model, uint32_t phase, uint64_t now_ns)
{
  const double at_ns = predicted_ns(model, phase);
  if (at_ns > (double)now_ns)
    return (uint64_t)at_ns;
  const double period_ns = ws_predict_period_ns(model, phase);
  return (uint64_t)(at_ns + period_ns * ((double)(uint64_t)(((double)now_ns - at_ns) / period_ns) + 1));
}

double ws_predict_period_ns(const ws_predict_t *model, uint32_t phase)
{
  return model->phase[phase].period_ns;
}

uint64_t ws_predict_due_ns(const ws_predict_t *model)
{
  double due_ns = (double)UINT64_MAX;
  for (uint32_t i = 0; i < model->phases; i++) {
    const double at_ns = predicted_ns(model, i) + tolerance_ns(model);
    due_ns = at_ns < due_ns ? at_ns : due_ns;
  }
  return due_ns < (double)UINT64_MAX ? (uint64_t)due_ns : UINT64_MAX;
}

uint64_t ws_predict_gap_ns(const ws_predict_t *model)
{
  return model->phases > 0 ? (uint64_t)(model->period_ns / model->phases) : 0;
}

uint64_t ws_predict_gap_min_ns(const ws_predict_t *model)
{
  double least_ns = model->period_ns;
  for (uint32_t i = 0; i < model->phases; i++)
    least_ns = model->phase[i].since_ns < least_ns ? model->phase[i].since_ns : least_ns;
  return least_ns > 0 ? (uint64_t)least_ns : 0; // below 0: two phases have passed each other
}
