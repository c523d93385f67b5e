// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_prewake_state.h
/// The state of pre-wake, for a pool and for its workers, and what its files call of each other. Private to
/// this room.
///
/// Letters as in ws_types.h.
///
/// The level (ws_stats.h) is what pre-wake may do on a machine that may have no time to spare:
///
///   2 pre-wake --trouble--> 1 spin after bursts --trouble--> 0 sleep at once
///     ^_____a time without trouble_____|  ^_____a time without trouble_____|
/// The time doubles at each fall, up to 16 times the first, and is forgotten after 16 of them at the top.
#ifndef WS_PREWAKE_STATE_H
#define WS_PREWAKE_STATE_H

#include "../base/ws_histogram.h" // IWYU pragma: export
#include "../base/ws_window.h" // IWYU pragma: export
#include "../include/ws_stats.h" // IWYU pragma: export
#include "../pool/ws_types.h" // IWYU pragma: export

// The pattern (ws_period.c) and its phases (ws_predict.c): plain arithmetic, one thread at a time. All times
// are CLOCK_MONOTONIC.

/// Bursts in one pattern.
#define WS_PHASES_MAX 16u
/// Arrivals that are looked at.
#define WS_ARRIVALS 64u

typedef struct {
  double period_ns;
  uint32_t bursts; ///< in one period
  struct {
    uint64_t last_ns; ///< a time at which it comes, not later than the newest arrival
    double occupancy; ///< share of the periods in which it comes
  } burst[WS_PHASES_MAX]; ///< the one that came longest ago first
} ws_pattern_t;

/// @brief Look for a pattern in @p arrivals, ascending times. Two ways:
/// bursts that all come: the smallest m for which the time from each arrival to the m-th next is always about
/// the same; bursts on a grid, not all of which come: the grid, and the smallest number of its cells after
/// which the same cells are occupied again.
/// @param count  at most WS_ARRIVALS
/// @return whether there is one. Arrivals at random (Poisson) have none
bool ws_period_find(const uint64_t *arrivals, uint32_t count, ws_pattern_t *pattern);

typedef struct {
  double next_ns; ///< when the clock expects it next
  double period_ns;
  double error_ns; ///< mean error of the clock lately
  double since_ns; ///< usual time since the arrival before
  double since_error_ns; ///< mean error of that
  double periods; ///< since it came last
  double occupancy; ///< share of the periods lately in which it came
  ws_window_t errors; ///< arrival less prediction
} ws_phase_t;

typedef struct {
  uint64_t arrival_ns[WS_ARRIVALS]; ///< the last ones, ascending
  uint32_t arrivals;
  double period_ns; ///< of the pattern; 0 = none is known
  uint32_t phases;
  uint32_t locks; ///< times that a pattern was found
  uint32_t last_phase; ///< that the last arrival belonged to; phases = none
  double stray; ///< share of the arrivals lately that belonged to no phase
  double surprise; ///< share of the expectations lately that were wrong
  bool strayed; ///< the last arrival belonged to no phase
  uint32_t until_look, look_every; ///< arrivals until the next search for a pattern; between two searches
  ws_phase_t phase[WS_PHASES_MAX];
} ws_predict_t;

/// What an arrival was.
typedef struct {
  int32_t phase; ///< -1 = not expected
  uint32_t absent; ///< expected ones before it that have not come
  int64_t error_ns; ///< it came so much after the prediction
} ws_arrived_t;

/// @brief A burst has come at @p at_ns, later than all before. If locks has changed on return, the phase that
/// is returned is of the pattern before.
ws_arrived_t ws_predict_arrival(ws_predict_t *model, uint64_t at_ns);

/// @brief Move on the phases that should have come well before @p now_ns and have not, and lower their
/// occupancy. @return how many expected bursts have not come
uint32_t ws_predict_expire(ws_predict_t *model, uint64_t now_ns);

/// @return how far the pattern can be relied on
ws_pattern_state_t ws_predict_state(const ws_predict_t *model);

/// @return when the next burst of @p phase is expected; if that has passed, it also comes each period later
double ws_predict_next_ns(const ws_predict_t *model, uint32_t phase);

/// @return the soonest time at which ws_predict_expire would find something; UINT64_MAX = never
uint64_t ws_predict_due_ns(const ws_predict_t *model);

/// @return the shortest usual time between two expected bursts; 0 = no pattern is known, or two
///         phases have passed each other
uint64_t ws_predict_gap_min_ns(const ws_predict_t *model);

// The state.

/// Highest level of pre-wake: see ws_stats.h.
#define WS_LEVEL_TOP 2u

/// Number of times that a worker has run out of work since the last pause, up to which gaps are kept apart.
#define WS_FOLLOWS 4u

/// What a worker took of a burst.
typedef struct {
  ws_au64_t arrival_ns; ///< O of the burst
  ws_au32_t tasks; ///< O its first one, and those that had to wait for it
} ws_taken_t;

/// What a worker has learnt about one phase of the pattern. One thread at a time.
typedef struct {
  ws_window_t early; ///< samples of X (ws_plan.c): the lead that would have been just right
  ws_window_t length; ///< time from a burst to the end of its work
  /// has samples of timer wakes: samples of pushes tell less, and are not added until the gate shuts
  bool timed;
  double useful; ///< share of the bursts lately in which the worker found a task
  uint64_t timed_ns; ///< when the burst of the last timer wake was expected
  uint32_t shut; ///< decisions against a timer wake in a row
  bool open; ///< the worker uses timer wakes for this phase
} ws_lead_t;

/// What else a decision about a lead depends on.
typedef struct {
  double price; ///< CPU time that one unit of lateness is worth (settings.spin_price)
  double occupancy; ///< share of the periods in which the burst comes
  const ws_window_t *errors; ///< J
  double react_ns; ///< how late the worker is when a push has to wake it
  double length_ns; ///< time from the burst to the end of its work: 0 = not known
  double call_ns; ///< CPU time that the push spends on the wake
  double spin_ns_max; ///< CPU time that may be spent on it for each burst
} ws_lead_case_t;

typedef struct {
  int64_t lead_ns; ///< time from the timer to the expected burst
  int64_t wait_ns; ///< the worker gives up so long after the expected time; below 0: before it
  double cost_ns; ///< expected CPU time of spinning without work
  double gain_ns; ///< expected lateness that is avoided, as CPU time, and pushes' wakes, less cost_ns
} ws_lead_choice_t;

/// A worker's planned timer wake.
typedef struct {
  uint64_t rise_ns; ///< when the timer fires, at once if that has passed; 0 = no timer
  uint64_t give_up_ns; ///< until when the worker then spins without work
  uint64_t expected_ns; ///< when the burst is expected
  int32_t phase; ///< of the predictor; -1 = the burst is from a hint
} ws_plan_t;

/// Of a worker.
struct ws_prewake_worker_s {
  ws_plan_t plan; ///< P
  uint64_t out_of_work_ns; ///< P when it last ran out of work
  uint64_t slept_ns, rose_ns; ///< P when it last parked, and last woke
  double react_ns; ///< P usual time from a push's wake to its first instruction; 0 = not known
  int64_t waking_ns; ///< P how long the last wake took; -1 = no wake since the last burst to learn from
  bool by_timer; ///< P its timer woke it last, or had fired when a push did; false once that is counted
  bool is_armed; ///< P it is counted in armed
  bool found; ///< P it has run a task since it last woke
  uint64_t locks; ///< P outlook.locks that lead[] belongs to
  uint64_t hinted_ns; ///< P time of the hinted burst of its last timer wake
  uint64_t learnt_ns; ///< P outlook.seen_ns of the last burst that it has learnt from
  ws_taken_t taken[2]; ///< of the last two bursts of which it took a task
  uint32_t burst; ///< P the newer one of these
  uint32_t follow; ///< P times that it has run out of work since the last pause, below WS_FOLLOWS
  ws_window_t wakes[2]; ///< P [ws_wake_by_t] how long wakes took
  ws_window_t follows[WS_FOLLOWS]; ///< P [follow] time without work after each
  ws_lead_t lead[WS_PHASES_MAX]; ///< P
  ws_histogram_t woken[2][WS_WAKE_GAPS]; ///< O waking_ns, for the statistics
  ws_histogram_t leads; ///< O lead of each timer wake
};

/// One phase, as workers plan with it.
typedef struct {
  double next_ns; ///< when it comes
  double period_ns; ///< from then on
  double occupancy; ///< share of the periods lately in which it came
  uint32_t takers; ///< one more than the workers that most of its bursts could have used; 0 = not known
  ws_window_t errors; ///< arrival less expectation
} ws_outlook_phase_t;

/// What ws_rhythm.c publishes: the last burst, and what comes.
typedef struct {
  uint64_t seen_ns; ///< the arrival that was learnt last
  uint64_t bursts, expected_bursts, absent_bursts; ///< until then
  ws_arrived_t arrived; ///< what it was
  uint64_t locks; ///< times that a pattern was found
  uint64_t gap_ns; ///< between expected bursts, a mean
  double period_ns; ///< of the pattern
  ws_pattern_state_t state;
  uint32_t phases;
  ws_outlook_phase_t phase[WS_PHASES_MAX]; ///< [phases]: the others are not copied
} ws_outlook_t;

/// Of a pool. Most of it is written once a burst.
struct ws_prewake_pool_s {
  // Read by each wake; written seldom.
  alignas(WS_SPACING) ws_au32_t armed; ///< S workers with a timer
  ws_au64_t waking_ns; ///< S time from the call to a worker's first instruction, a median
  ws_au64_t expected_ns; ///< S time of the burst of the last hint: sleep/ws_hint.c. Only a hint
  alignas(WS_SPACING) ws_au32_t rhythm_lock; ///< S 1 = a thread holds rhythm
  /// The pattern of a pool's bursts; under rhythm_lock.
  struct {
    ws_predict_t model;
    ws_window_t takers[WS_PHASES_MAX]; ///< how many workers the bursts of each phase could have used
    ws_outlook_t outlook; ///< to be published
  } rhythm;
  ws_au32_t outlook_sequence; ///< O the holder of rhythm_lock; odd = outlook is being written
  ws_au64_t outlook[sizeof(ws_outlook_t) / sizeof(uint64_t)]; ///< O what all workers plan with (ws_rhythm.c)
  ws_au64_t learnt_ns, absent_ns; ///< O arrival learnt last; when a phase will count as absent
  ws_au64_t out_of_work_ns; ///< S when a worker last ran out of work
  ws_au32_t starters; ///< S workers that may have been the first to find a task of this burst
  ws_au64_t arrival_ns; ///< S when work last came after a pause, or a hint announced it
  ws_au64_t announced_ns; ///< S when a hint last announced work
  ws_au64_t announced_until_ns; ///< S until then the next push belongs to it; 0 = it has come
  ws_au64_t sleep_ns_min; ///< O shorter sleeps are not learnt from
  ws_au64_t started_ns; ///< S arrival of the burst whose start was noted last
  ws_au64_t starts; ///< S bursts that a worker has started
  ws_au64_t start_p90_ns; ///< S the 90th percentile of how long that took, about
  // The level.
  ws_au32_t lowered; ///< S levels below the top
  ws_au64_t span_ns; ///< O the guard: time without trouble until the level rises
  ws_au64_t clean_ns; ///< S if the level does not fall until then, it rises
  ws_au64_t level_changes; ///< S
  ws_au64_t throttled_looks; ///< O the guard's
};

/// @brief Learn from an arrival that was not learnt from yet, and from phases that should have come by
/// @p now_ns, and publish the outlook. Then raise the level by one, if a time without trouble is over. If
/// there is nothing to learn, or another thread does this, return at once.
void ws_rhythm_update(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief Copy what was published last. @param phases  these, too: many words
/// @return false = it is being written, or nothing is known: @p outlook has no phases, and its rest is void
bool ws_rhythm_read(const ws_prewake_pool_t *shared, bool phases, ws_outlook_t *outlook);

/// @brief Copy what comes before the phases, for the statistics: the words may be of two bursts.
void ws_rhythm_glance(const ws_prewake_pool_t *shared, ws_outlook_t *outlook);

/// Least number of samples of X for a decision.
#define WS_LEAD_SAMPLES_MIN 4u

/// @return the quantile of X, in permille, with the least cost at this spin_price
static inline uint32_t ws_lead_permille(double price)
{
  return (uint32_t)(1000 * price / (price + 1));
}

/// @brief Remember what a burst has shown.
/// @param early_ns  X
/// @param by_timer  the worker's timer has woken it; else a push, whose X counts only while lead->timed is
///                  false or samples are few
/// @param found     the worker found a task
/// @param in_time   the worker was awake when the burst came: else it is not learnt that it found none
void ws_lead_learn(ws_lead_t *lead, int64_t early_ns, bool by_timer, bool found, bool in_time);

/// @brief The lead of least cost, shortened until spin_ns_max allows it, and what it brings. If not even the
/// shortest is allowed, gain_ns is -cost_ns.
ws_lead_choice_t ws_lead_choose(const ws_lead_t *lead, const ws_lead_case_t *how);

/// @brief Open or shut the gate, with some inertia.
/// @return whether the worker should set a timer: the gate is open, or a trial is due
bool ws_lead_gate(ws_lead_t *lead, const ws_lead_choice_t *choice);

/// @brief Plan the next timer wake of the worker, which goes to sleep, and count it among those with a timer.
/// It is the soonest of those for a hint and, if the mode is AUTO or FIXED and the level is the top one, for
/// the phases. @return the plan; rise_ns = 0: no timer, and the worker is not counted
ws_plan_t ws_plan_choose(ws_worker_t *worker, const ws_outlook_t *outlook);

/// @return CPU time that it costs to have been asleep when work came, lateness at settings.spin_price
///         included
double ws_miss_ns(const ws_worker_t *worker);

/// @brief A worker is the first that has found a task, at @p found_ns, of the burst of @p arrival_ns: count
/// its start, unless that was done, and follow the percentile.
void ws_start_note(struct ws_pool_s *pool, uint64_t arrival_ns, uint64_t found_ns);

#endif
