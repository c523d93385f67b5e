// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_hold.h
/// A pattern that is known well is held through disturbances. A late burst, a missed one, or a stretch of
/// lost CPU time shows nothing new about it:
///
/// forget   only after more than ten bursts in a row that belong to no phase, or as many doubtful ones as a
///          new pattern takes to be found
/// coast    an exception, late or early by far more than usual, moves no phase
/// shift    if such bursts have the known pattern at another time, the phases move there and keep what they
///          have learnt
/// restore  after a short disturbance each phase has the occupancy from before it
///
/// One thread at a time, as ws_predict.h.
#ifndef WS_HOLD_H
#define WS_HOLD_H

#include "ws_model.h"

/// Expected bursts after which a pattern is known well.
#define WS_HOLD_AFTER 1000u
/// Bursts in a row that belong to no phase: so many do not end a pattern that is known well.
#define WS_HOLD_STRAYS 10u
/// Arrivals at which a pattern fits badly, one after the other, before another one is looked for. So many
/// differences decide on a pattern (ws_period.c).
#define WS_HOLD_DOUBTS 24u

/// @return whether the pattern is known well
static inline bool ws_hold_is_known(const ws_predict_t *model)
{
  return model->phases > 0 && model->confirmed >= WS_HOLD_AFTER;
}

/// @brief A burst is not where it should be, which was at about @p at_ns. Remember how things were before.
void ws_hold_trouble(ws_predict_t *model, uint64_t at_ns);

/// @param late_ns  of an arrival that belongs to the phase
/// @param usual_ns  mean error of the phase's prediction
/// @return whether the arrival shows nothing about the phase's clock: it is far from the usual, not many of
///         the phase before it were, and there was no pause in which the clock could have run away
bool ws_hold_is_exception(const ws_predict_t *model, ws_phase_t *phase, double late_ns, double usual_ns);

/// @brief A burst has come as expected. If the trouble before it was short, undo what it has changed.
void ws_hold_confirm(ws_predict_t *model, uint64_t at_ns);

/// @brief If @p pattern is the known one at another time, move all phases there.
/// @return whether it is
bool ws_hold_shift(ws_predict_t *model, const ws_pattern_t *pattern);

#endif
