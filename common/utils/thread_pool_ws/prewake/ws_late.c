// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_late.c
/// ws_late.h.
#include "ws_late.h"

/// A gap longer than this many usual ones is a pause.
#define PAUSE_GAPS 4u
/// Part of the percentile by which a start below it lowers it. One above raises it nine times as much: it
/// rests where one in ten is above (Robbins and Monro, A Stochastic Approximation Method, 1951).
#define STEP_PART 128u
#define RAISE 9u

/// The worker slept until a push called it.
static ws_late_t cause_of_call(const ws_late_facts_t *facts)
{
  const uint64_t late_ns = facts->found_ns - facts->arrival_ns;
  const ws_plan_t *gave_up = &facts->gave_up;
  if (gave_up->rise_ns != 0 && gave_up->expected_ns < facts->arrival_ns) {
    const int64_t behind_ns = (int64_t)(facts->arrival_ns - gave_up->expected_ns);
    return behind_ns > gave_up->late_ns_max ? WS_LATE_BURST_LATE : WS_LATE_GAVE_UP;
  }
  if (facts->usual_gap_ns != 0 && facts->gap_ns > PAUSE_GAPS * facts->usual_gap_ns)
    return WS_LATE_PAUSE;
  if (facts->plan.rise_ns != 0)
    return WS_LATE_BURST_EARLY;
  if (facts->called_ns > facts->arrival_ns && facts->called_ns - facts->arrival_ns > late_ns / 2)
    return WS_LATE_CALL;
  if (facts->unset != WS_LATE_WAKE)
    return facts->unset;
  return facts->beside ? WS_LATE_BUSY_CPU : WS_LATE_WAKE;
}

ws_late_t ws_late_cause(const ws_late_facts_t *facts)
{
  if (facts->rose_ns <= facts->arrival_ns)
    return WS_LATE_CPU_TAKEN;
  if (!facts->by_timer)
    return cause_of_call(facts);
  if (facts->plan.rise_ns > facts->arrival_ns)
    return WS_LATE_BURST_EARLY;
  return facts->beside ? WS_LATE_BUSY_CPU : WS_LATE_TIMER;
}

bool ws_late_note(ws_late_count_t *count, uint64_t late_ns)
{
  const uint64_t bound_ns = ws_stat_load(&count->bound_ns);
  const bool first = ws_stat_add(&count->starts, 1) == 0, above = late_ns > bound_ns;
  const uint64_t step_ns = bound_ns / STEP_PART + 1;
  const uint64_t below_ns = bound_ns > step_ns ? bound_ns - step_ns : 0;
  ws_stat_store(&count->bound_ns, first ? late_ns : above ? bound_ns + RAISE * step_ns : below_ns);
  return above && !first;
}
