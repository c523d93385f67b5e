// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lead.h
/// How long before a burst shall a worker get up, and is it worth it? Plain arithmetic on samples; one thread
/// at a time.
///
/// A worker that is told to get up at (expected - lead) runs W later, and the burst comes J after it was
/// expected. It is late by (W - J) - lead, or looks for work in vain for lead - (W - J). So with X = W - J
///   cost(lead) = price * E max(0, X - lead) + E max(0, lead - X)
/// which is least at the price / (price + 1) quantile of X: the newsvendor's rule (Arrow, Harris and Marschak
/// 1951). X is observed after every burst, and does not depend on the lead: nothing can oscillate.
#ifndef WS_LEAD_H
#define WS_LEAD_H

#include <stdbool.h>

#include "ws_predict.h"

/// What a worker knows about one phase.
typedef struct {
  ws_window_t early; ///< X: the lead that would have been just right
  bool timed; ///< some of them are of its own timer, and the others say less: no more of those are added
  double useful; ///< share of the bursts lately in which it found a task
  uint64_t risen_ns; ///< when the burst was expected for which it got up last
  uint32_t shut; ///< decisions against it in a row
  bool open; ///< it gets up early for this phase
} ws_lead_t;

/// What a decision depends on beside that.
typedef struct {
  double price; ///< CPU time that one unit of lateness is worth
  double occupancy; ///< share of the periods in which the burst comes
  const ws_window_t *late; ///< J
  double react_ns; ///< how late the worker is when a push has to wake it
  double call_ns; ///< CPU time that the push spends on that
  double rise_ns; ///< CPU time that getting up by its own timer costs more than being woken
  double spin_ns_max; ///< CPU time that may be spent on it for each burst
} ws_lead_case_t;

typedef struct {
  int64_t lead_ns; ///< get up so long before the expected time
  int64_t wait_ns; ///< give up so long after it
  double cost_ns; ///< expected CPU time in vain
  double gain_ns; ///< expected lateness that is avoided, as CPU time, less that
} ws_lead_choice_t;

/// Samples of X without which nothing is decided.
#define WS_LEAD_SAMPLES_MIN 4u

/// @return the quantile, in permille, that is the best compromise at @p price
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
/// @param by_timer  its own timer has woken it; else a push
/// @param found     the worker found a task
/// @param in_time   it was awake when the burst came: else that it found none says nothing
void ws_lead_learn(ws_lead_t *lead, int64_t early_ns, bool by_timer, bool found, bool in_time);

/// @brief Open or shut the gate, with some inertia.
/// @return whether the worker shall get up: the gate is open, or it is time for a trial
bool ws_lead_gate(ws_lead_t *lead, const ws_lead_choice_t *choice);

#endif
