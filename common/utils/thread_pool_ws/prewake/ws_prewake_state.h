// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake_state.h
/// The state of pre-wake, for a pool and for its workers. Private to this room.
///
/// Letters as in ws_types.h.
///
/// The level (ws_level.c, ws_stats.h) is what pre-wake may do on a machine that may have no time to spare:
///
///   2 pre-wake --trouble--> 1 spin after bursts --trouble--> 0 sleep at once
///     ^_____a time without trouble_____|  ^_____a time without trouble_____|
/// The time doubles at each fall, up to 16 times the first, and is forgotten after 16 of them at the top.
#ifndef WS_PREWAKE_STATE_H
#define WS_PREWAKE_STATE_H

#include "../base/ws_histogram.h"
#include "../pool/ws_types.h"
#include "ws_late.h"
#include "ws_lead.h"

/// Highest level of pre-wake: see ws_stats.h.
#define WS_LEVEL_TOP 2u

/// Number of times that a worker has run out of work since the last pause, up to which gaps are kept apart.
#define WS_FOLLOWS 4u

/// What a worker took of a burst.
typedef struct {
  ws_au64_t arrival_ns; ///< O of the burst
  ws_au32_t tasks; ///< O its first one, and those that had to wait for it
} ws_taken_t;

/// Of a worker.
struct ws_prewake_worker_s {
  ws_plan_t plan; ///< P
  int64_t waking_ns; ///< P how long the last wake took; -1 = the worker has not slept since the last burst
  bool by_timer; ///< P its timer woke it
  bool is_far; ///< P it is counted in armed_far
  ws_plan_t gave_up; ///< P of its last timer wake, if no burst came for it; rise_ns 0 = one came
  ws_late_t unset; ///< P why its sleep has no timer (ws_late.h)
  bool found; ///< P it has run a task since
  uint32_t burst; ///< P rhythm.burst that it has learnt from
  uint32_t locks; ///< P rhythm.model.locks that lead[] belongs to
  uint64_t hinted_ns; ///< P time of the hinted burst of its last timer wake
  uint64_t learnt_ns; ///< P arrival_ns that it has passed to the predictor
  ws_taken_t taken, taken_before; ///< of the last two bursts of which it took a task
  uint32_t follow; ///< P times that it has run out of work since the last pause
  ws_window_t pushed, timed; ///< P waking_ns after a push's call, and after its own timer
  ws_window_t follows[WS_FOLLOWS]; ///< P time without work after each
  ws_lead_t lead[WS_PHASES_MAX]; ///< P
  ws_histogram_t woken[2][WS_WAKE_GAPS]; ///< O waking_ns, for the statistics
  ws_histogram_t leads; ///< O lead of each timer wake
};

/// @return the gaps seen at this place of a burst
static inline ws_window_t *ws_follows(ws_prewake_worker_t *its)
{
  return &its->follows[its->follow < WS_FOLLOWS ? its->follow : WS_FOLLOWS - 1];
}

/// One phase, as workers plan with it.
typedef struct {
  uint64_t expected_ns; ///< when it comes next
  double period_ns; ///< from then on
  double occupancy; ///< share of the periods lately in which it came
  uint32_t takers; ///< workers that take tasks of its bursts: enough for most of them; 0 = not known
  ws_window_t late; ///< arrival less expectation
} ws_outlook_phase_t;

/// What ws_rhythm.h publishes. Readers copy the fields before phase[], and the first phases of that.
typedef struct {
  uint64_t seen_ns; ///< the arrival that was learnt last
  uint32_t burst; ///< its number
  ws_arrived_t arrived; ///< what it was
  uint32_t locks; ///< times that a pattern was found
  uint64_t gap_ns; ///< between expected bursts, a mean
  double period_ns; ///< of the pattern
  uint32_t phases;
  ws_outlook_phase_t phase[WS_PHASES_MAX];
} ws_outlook_t;

/// The pattern of a pool's bursts; under rhythm_lock.
typedef struct {
  ws_predict_t model;
  uint64_t seen_ns; ///< the arrival that the model learnt last
  uint32_t burst; ///< number of the last burst
  ws_arrived_t arrived; ///< what it was
  ws_window_t takers[WS_PHASES_MAX]; ///< how many workers the bursts of each phase could have used
  ws_outlook_t outlook; ///< to be published
} ws_rhythm_t;

/// Of a pool. Written once a burst.
struct ws_prewake_pool_s {
  ws_au32_t rhythm_lock; ///< S 1 = a thread holds rhythm
  ws_rhythm_t rhythm;
  ws_au32_t outlook_sequence; ///< O the holder of rhythm_lock; odd = outlook is being written
  ws_au64_t outlook[sizeof(ws_outlook_t) / sizeof(uint64_t)]; ///< O what all workers plan with (ws_rhythm.h)
  ws_au64_t learnt_ns, absent_ns; ///< O arrival learnt last; when a phase will count as absent
  ws_au64_t out_of_work_ns; ///< S when a worker last ran out of work
  ws_au32_t starters; ///< S workers that may have been the first to find a task of this burst
  ws_au64_t arrival_ns; ///< S when work last came after a pause
  ws_au64_t announced_ns; ///< S when a hint last announced work
  ws_au64_t announced_until_ns; ///< S until then the next push belongs to it; 0 = it has come
  ws_au32_t unplanned; ///< S times in a row that a worker has planned no timer wake, up to a bound
  ws_au32_t armed_far; ///< S workers with an alarm that are far from the producer
  ws_au64_t sleep_ns_min; ///< O shorter sleeps are not learnt from
  ws_au64_t period_ns; ///< O rhythm.model's, for the statistics
  ws_au32_t period_bursts; ///< O as period_ns
  ws_au32_t state; ///< O ws_pattern_state_t, as period_ns
  ws_au64_t locks; ///< O as period_ns
  ws_au64_t bursts, expected_bursts, absent_bursts; ///< O the holder of rhythm_lock
  ws_late_count_t late; ///< S
  // ws_level.c
  ws_au32_t level; ///< S see ws_stats.h
  ws_au64_t span_ns; ///< O the guard: time without trouble until the level rises
  ws_au64_t clean_ns; ///< S if the level does not fall until then, it rises
  ws_au64_t level_changes; ///< S
  ws_au64_t throttled_looks; ///< O the guard's
};

/// @brief Lower the level by one, at once. The level rises after @p span_ns without trouble, or after twice
/// the last such time.
/// @threads  the guard
void ws_level_fall(ws_prewake_pool_t *its, uint64_t now_ns, uint64_t span_ns);

/// @brief Raise the level by one, if the time without trouble is over.
/// @threads  the holder of rhythm_lock
void ws_level_rise(ws_prewake_pool_t *its, uint64_t now_ns);

#endif
