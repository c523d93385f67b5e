// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lead.h
/// How long before a burst should a worker's timer fire, and is a timer wake worth its cost? Plain arithmetic
/// on samples; one thread at a time.
///
/// The timer fires at (expected - lead). The worker runs W later, and the burst comes J after the expected
/// time. The worker is late by (W - J) - lead, or spins without work for lead - (W - J). So with X = W - J
/// and p = settings.spin_price
///   cost(lead) = p * E max(0, X - lead) + E max(0, lead - X)
/// which is least at the p / (p + 1) quantile of X: the newsvendor's rule (Arrow, Harris and Marschak 1951).
/// X is observed after every burst and does not depend on the lead, so the choice cannot oscillate.
#ifndef WS_LEAD_H
#define WS_LEAD_H

#include <stdbool.h>

#include "ws_predict.h"

/// What a worker has learnt about one phase of the pattern.
typedef struct {
  ws_window_t early; ///< samples of X: the lead that would have been just right
  ws_window_t length; ///< time from a burst to the end of its work
  bool timed; ///< has samples of timer wakes: samples of pushes tell less, and are not added any more
  double useful; ///< share of the bursts lately in which the worker found a task
  uint64_t risen_ns; ///< when the burst of the last timer wake was expected
  uint32_t shut; ///< decisions against a timer wake in a row
  bool open; ///< the worker uses timer wakes for this phase
} ws_lead_t;

/// What else a decision depends on.
typedef struct {
  double price; ///< CPU time that one unit of lateness is worth (settings.spin_price)
  double occupancy; ///< share of the periods in which the burst comes
  const ws_window_t *late; ///< J
  double react_ns; ///< how late the worker is when a push has to wake it
  double length_ns; ///< time from the burst to the end of its work: 0 = not known
  double call_ns; ///< CPU time that the push spends on the wake
  double rise_ns; ///< CPU time that a timer wake costs more than a wake by a push
  double spin_ns_max; ///< CPU time that may be spent on it for each burst
} ws_lead_case_t;

typedef struct {
  int64_t lead_ns; ///< time from the timer to the expected burst
  int64_t wait_ns; ///< the worker gives up so long after the expected time
  double cost_ns; ///< expected CPU time of spinning without work
  double gain_ns; ///< expected lateness that is avoided, as CPU time, less cost_ns
} ws_lead_choice_t;

/// Least number of samples of X for a decision.
#define WS_LEAD_SAMPLES_MIN 4u

/// @return the quantile of X, in permille, with the least cost at this spin_price
static inline uint32_t ws_lead_permille(double price)
{
  return (uint32_t)(1000 * price / (price + 1));
}

/// @brief The lead of least cost, shortened until spin_ns_max allows it, and what it brings.
ws_lead_choice_t ws_lead_choose(const ws_lead_t *lead, const ws_lead_case_t *how);

/// @brief The same for a lead that is given.
ws_lead_choice_t ws_lead_judge(const ws_lead_t *lead, const ws_lead_case_t *how, int64_t lead_ns);

/// @brief Remember what a burst has shown.
/// @param early_ns  X
/// @param by_timer  the worker's timer has woken it; else a push
/// @param found     the worker found a task
/// @param in_time   the worker was awake when the burst came: only then @p found is learnt from
void ws_lead_learn(ws_lead_t *lead, int64_t early_ns, bool by_timer, bool found, bool in_time);

/// @brief Open or shut the gate, with some inertia.
/// @return whether the worker should set a timer: the gate is open, or a trial is due
bool ws_lead_gate(ws_lead_t *lead, const ws_lead_choice_t *choice);

#endif
