// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lead.c
/// ws_lead.h.
#include "ws_lead.h"

/// Consecutive decisions against a timer wake after which the worker tries one all the same. Prime, so that
/// in a pattern of several bursts each phase is tried.
#define TRIAL_EVERY 61u
/// Step by which a lead that costs too much is shortened, in quantiles of X.
#define STEP_PERMILLE 150u
/// Two threads need so long for a burst of any kind, because tasks and completions move between their caches.
#define TOGETHER_NS 2000.

ws_lead_choice_t ws_lead_judge(const ws_lead_t *lead, const ws_lead_case_t *how, int64_t lead_ns)
{
  const double present = how->occupancy, absent = 1 - present;
  const double absences = absent / (present > 0.01 ? present : 0.01); // absences for each arrival
  ws_lead_choice_t choice = {.lead_ns = lead_ns};
  // A worker that gives up is as late as without a timer wake, and has to be woken once more.
  const int64_t miss_ns = (int64_t)((how->price + 1) * how->react_ns + how->call_ns);
  choice.wait_ns = ws_window_best_wait(how->late, -lead_ns, INT32_MAX, absences, miss_ns);
  choice.wait_ns += (choice.wait_ns + lead_ns) / 16; // a look takes time
  // A burst that is later than all remembered ones is more likely than one that does not come at all. So it
  // is worth waiting for it as long as a wake costs.
  if (absences * (how->late->count + 1) < 1 && choice.wait_ns < miss_ns)
    choice.wait_ns = miss_ns;
  // If the timer fires later than a push would have woken the worker, the timer neither helps nor hurts: what
  // delayed the timer by milliseconds would have delayed the push's wake, too.
  const int64_t react_ns = (int64_t)how->react_ns;
  const double in_time_ns = how->react_ns - (double)ws_window_above(&lead->early, lead_ns, react_ns);
  const double reached = ws_window_reached(how->late, choice.wait_ns);
  // A burst that is over before a woken worker runs is no later without the worker than it is long, and its
  // pushes come to wake no worker (ws_alone.h).
  const bool is_short = how->length_ns > 0 && how->length_ns < in_time_ns;
  const double saved_ns = !is_short                      ? in_time_ns
                          : how->length_ns > TOGETHER_NS ? how->length_ns - TOGETHER_NS
                                                         : 0;
  const double useful = lead->useful * present * reached * saved_ns;
  const double present_ns = (double)ws_window_below(&lead->early, lead_ns) + (1 - reached) * how->react_ns;
  const double absent_ns = (double)(lead_ns + choice.wait_ns) + how->react_ns;
  choice.cost_ns = present * present_ns + absent * absent_ns + how->rise_ns;
  choice.gain_ns = how->price * useful - choice.cost_ns;
  if (!is_short)
    choice.gain_ns += present * reached * how->call_ns;
  return choice;
}

ws_lead_choice_t ws_lead_choose(const ws_lead_t *lead, const ws_lead_case_t *how)
{
  uint32_t permille = ws_lead_permille(how->price);
  for (;; permille -= STEP_PERMILLE) {
    ws_lead_choice_t choice = ws_lead_judge(lead, how, ws_window_quantile(&lead->early, permille));
    if (choice.cost_ns <= how->spin_ns_max)
      return choice;
    if (permille <= STEP_PERMILLE) {
      choice.gain_ns = -choice.cost_ns; // even that costs too much: no timer wake
      return choice;
    }
  }
}

void ws_lead_learn(ws_lead_t *lead, int64_t early_ns, bool by_timer, bool found, bool in_time)
{
  if (lead->early.count == 0)
    lead->useful = 1; // not known yet: try it
  if (by_timer || !lead->timed || lead->early.count < WS_LEAD_SAMPLES_MIN)
    ws_window_add(&lead->early, early_ns);
  lead->timed = lead->timed || by_timer;
  if (found || in_time)
    ws_mean_follow(&lead->useful, found);
}

bool ws_lead_gate(ws_lead_t *lead, const ws_lead_choice_t *choice)
{
  const double inertia_ns = choice->cost_ns / 8;
  lead->open = choice->gain_ns > (lead->open ? -inertia_ns : inertia_ns);
  if (lead->open) {
    lead->shut = 0;
    return true;
  }
  // The gate may have been shut by a bad minute in which timers were late. With the gate shut nothing would
  // show that the minute is over. So the samples of pushes are learnt from again, and now and then the worker
  // tries a timer wake.
  lead->timed = false;
  return ++lead->shut % TRIAL_EVERY == 0;
}
