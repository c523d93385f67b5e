// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_play.h
/// A scenario as it happens.
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include "sim_record.h" // IWYU pragma: export

typedef struct {
  void (*make)(uint32_t index); ///< pool; sets sim_pool[index]
  void (*stop)(uint32_t index); ///< by a thread of its own
  void (*destroy)(uint32_t index, bool stopped); ///< only while there is a core's pool
  void (*hint)(const sim_burst_t *burst, bool begins); ///< before the first of a burst, and after the last
  void (*burst)(const sim_burst_t *burst, uint32_t pool, uint32_t depth); ///< push, and wait
  void (*look)(void); ///< called by the engine between two steps: sim_pool is what it is now
  void (*end)(void); ///< everything is over: what must be so now
} sim_front_t;

/// Of the scenario.
extern const sim_front_t *sim_front;

extern const sim_front_t sim_core_front, sim_fifo_front, sim_array_front, sim_counter_front, sim_joins_front;

extern const sim_scenario_t *sim_scene;
/// The pools that there are; NULL = not yet, or not any more.
extern ws_pool_t *sim_pool[SIM_POOLS_MAX];

/// The next pool has no guard.
extern bool sim_guardless;

/// When the pools will be stopped, if that is while threads push.
extern sim_ps_t sim_stop_ps;

/// @brief Run it from beginning to end on an empty machine. Ends the process with a finding (sim_finding), or
/// returns.
void sim_play(const sim_scenario_t *scenario);

/// @brief Push a burst's tasks and wait for them. @param depth  of the tasks; burst->depth = the outermost
void sim_burst_run(const sim_burst_t *burst, uint32_t pool, uint32_t depth);

/// @brief Run a task from its begin to its end, with all checks. @param first  what it does before; NULL =
/// nothing
void sim_task_run(sim_record_t *record, void (*first)(const sim_record_t *record));

/// @brief The running thread begins the task of @p record: is its affinity what it must be (sim_mask.c)?
void sim_task_check(const sim_record_t *record);

/// @brief The thread is about to call the pool, or to return to it: it may stop in the middle of that.
void sim_task_before_call(void);

// Tasks that stand for fibers that yield (sim_ride.c).

/// @return whether the task of this record may yield: a task at the end of its burst's tree, of a group
bool sim_ride_may(const sim_record_t *record);

/// @brief Run such a task, and those that the thread goes on with. @param end  called when one has ended
void sim_ride(sim_record_t *record, void (*end)(sim_record_t *record));

#endif
