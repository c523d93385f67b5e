// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_plan.h
/// How long before a burst should a worker's timer fire, and is a timer wake worth its cost? Plain arithmetic
/// on samples (ws_lead_t); one thread at a time.
///
/// The timer fires at (expected - lead). The worker runs W later, and the burst comes J after the expected
/// time. The worker is late by (W - J) - lead, or spins without work for lead - (W - J). So with X = W - J
/// and p = settings.spin_price
///   cost(lead) = p * E max(0, X - lead) + E max(0, lead - X)
/// which is least at the p / (p + 1) quantile of X: the newsvendor's rule (Arrow, Harris and Marschak 1951).
/// X is observed after every burst and does not depend on the lead, so the choice cannot oscillate.
#ifndef WS_PLAN_H
#define WS_PLAN_H

#include <stdbool.h>

#include "ws_prewake_state.h"

/// What else a decision depends on.
typedef struct {
  double price; ///< CPU time that one unit of lateness is worth (settings.spin_price)
  double occupancy; ///< share of the periods in which the burst comes
  const ws_window_t *late; ///< J
  double react_ns; ///< how late the worker is when a push has to wake it
  double length_ns; ///< time from the burst to the end of its work: 0 = not known
  double call_ns; ///< CPU time that the push spends on the wake
  double spin_ns_max; ///< CPU time that may be spent on it for each burst
} ws_lead_case_t;

typedef struct {
  int64_t lead_ns; ///< time from the timer to the expected burst
  int64_t wait_ns; ///< the worker gives up so long after the expected time
  double cost_ns; ///< expected CPU time of spinning without work
  double gain_ns; ///< expected lateness that is avoided, as CPU time, less cost_ns
} ws_lead_choice_t;

/// @brief The lead of least cost, shortened until spin_ns_max allows it, and what it brings.
ws_lead_choice_t ws_lead_choose(const ws_lead_t *lead, const ws_lead_case_t *how);

/// @brief The same for a lead that is given.
ws_lead_choice_t ws_lead_judge(const ws_lead_t *lead, const ws_lead_case_t *how, int64_t lead_ns);

/// @brief Open or shut the gate, with some inertia.
/// @return whether the worker should set a timer: the gate is open, or a trial is due
bool ws_lead_gate(ws_lead_t *lead, const ws_lead_choice_t *choice);

#endif
