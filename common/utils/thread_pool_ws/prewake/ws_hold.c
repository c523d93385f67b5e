// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hold.c
/// ws_hold.h.
#include "ws_hold.h"

/// Expected bursts in a row before a trouble, or it is the usual case and has to be learnt.
#define CALM_MIN 64u
/// Periods that a disturbance may last. What takes longer is a pause of the traffic.
#define SHORT_PERIODS 32
/// A deviation is an exception if it is so many times the mean one, and so much more: no clock is better.
#define EXCEPTION 8
#define EXCEPTION_NS 1000
/// The clock whose period is the mean over the longest time.
#define SLOWEST (WS_CLOCKS - 1)

bool ws_hold_is_exception(const ws_predict_t *model, ws_phase_t *phase, double late_ns, double usual_ns)
{
  const bool is_far = ws_absolute(late_ns) > EXCEPTION * usual_ns + EXCEPTION_NS;
  phase->exceptions = is_far ? phase->exceptions + 1 : 0;
  return is_far && ws_hold_is_known(model) && phase->exceptions <= WS_HOLD_STRAYS
         && phase->periods <= SHORT_PERIODS;
}

void ws_hold_trouble(ws_predict_t *model, uint64_t at_ns)
{
  if (model->trouble_ns == 0 && model->calm >= CALM_MIN && ws_hold_is_known(model)) {
    model->trouble_ns = at_ns;
    for (uint32_t i = 0; i < model->phases; i++)
      model->phase[i].kept = model->phase[i].occupancy;
  }
  model->calm = 0;
}

static void restore(ws_predict_t *model)
{
  for (uint32_t i = 0; i < model->phases && model->trouble_ns != 0; i++)
    model->phase[i].occupancy = model->phase[i].kept;
  model->stray = model->surprise = 0;
  model->doubts = 0;
  model->trouble_ns = 0;
}

void ws_hold_confirm(ws_predict_t *model, uint64_t at_ns)
{
  const double lasted_ns = (double)at_ns - (double)model->trouble_ns;
  if (model->trouble_ns != 0 && lasted_ns <= SHORT_PERIODS * model->period_ns)
    restore(model);
  model->trouble_ns = 0;
  model->strays = 0;
  model->calm++;
  model->confirmed += model->confirmed < WS_HOLD_AFTER;
}

/// @return the time from phase 0 to phase @p index, less than a period
static double offset_ns(const double *at_ns, uint32_t index, double period_ns)
{
  const double since_ns = at_ns[index] - at_ns[0];
  const double periods = since_ns / period_ns;
  return since_ns - (double)((int64_t)periods - (periods < 0)) * period_ns;
}

/// @return between two offsets in a pattern that repeats
static double distance_ns(double one_ns, double other_ns, double period_ns)
{
  const double off_ns = ws_absolute(one_ns - other_ns);
  return off_ns < period_ns - off_ns ? off_ns : period_ns - off_ns;
}

/// @return how far the phases are from the bursts at most, if phase i is burst (i + @p first) of the pattern
static double misfit_ns(const ws_predict_t *model, const ws_pattern_t *pattern, uint32_t first)
{
  double own_ns[WS_PHASES_MAX], new_ns[WS_PHASES_MAX], worst_ns = 0;
  for (uint32_t i = 0; i < model->phases; i++) {
    own_ns[i] = model->phase[i].next_ns[SLOWEST];
    new_ns[i] = (double)pattern->last_ns[(i + first) % model->phases];
  }
  for (uint32_t i = 1; i < model->phases; i++) {
    const double own = offset_ns(own_ns, i, model->period_ns), new = offset_ns(new_ns, i, model->period_ns);
    const double off_ns = distance_ns(own, new, model->period_ns);
    worst_ns = off_ns > worst_ns ? off_ns : worst_ns;
  }
  return worst_ns;
}

static void shift(ws_predict_t *model, const ws_pattern_t *pattern, uint32_t first)
{
  for (uint32_t i = 0; i < model->phases; i++) {
    ws_phase_t *phase = &model->phase[i];
    const double period_ns = phase->period_ns[SLOWEST];
    for (uint32_t clock = 0; clock < WS_CLOCKS; clock++) {
      phase->period_ns[clock] = period_ns;
      phase->next_ns[clock] = (double)pattern->last_ns[(i + first) % model->phases] + period_ns;
    }
    phase->periods = 1;
  }
  model->last_phase = model->phases; // none
  model->strays = 0;
  model->relocks++;
  restore(model);
}

bool ws_hold_shift(ws_predict_t *model, const ws_pattern_t *pattern)
{
  const double off_ns = pattern->period_ns - model->period_ns;
  if (pattern->bursts != model->phases || ws_absolute(off_ns) * 50 > model->period_ns)
    return false;
  uint32_t best = 0;
  double least_ns = model->period_ns;
  for (uint32_t first = 0; first < model->phases; first++) {
    const double worst_ns = misfit_ns(model, pattern, first);
    best = worst_ns < least_ns ? first : best;
    least_ns = worst_ns < least_ns ? worst_ns : least_ns;
  }
  if (least_ns * 8 * model->phases > model->period_ns)
    return false;
  shift(model, pattern, best);
  return true;
}
