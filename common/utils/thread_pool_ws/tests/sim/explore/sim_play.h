// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_play.h
/// A scenario as it happens.
#ifndef SIM_PLAY_H
#define SIM_PLAY_H

#include "sim_front.h"
#include "sim_scenario.h"

extern const sim_scenario_t *sim_scene;
/// The pools that there are; NULL = not yet, or not any more.
extern ws_pool_t *sim_pool[SIM_POOLS_MAX];

/// When the threads that push begin, if they begin together.
extern sim_ps_t sim_together_ps;

/// When the pools will be stopped, if that is while threads push.
extern sim_ps_t sim_stop_ps;

/// @brief Run it from beginning to end on an empty machine. Ends the process with a finding (sim_finding), or
/// returns.
void sim_play(const sim_scenario_t *scenario);

/// @brief A thread outside: what it does from its first action to its last.
void *sim_actor_thread(void *actor);

/// @brief Push a burst's tasks and wait for them. @param depth  of the tasks; burst->depth = the outermost
void sim_burst_run(const sim_burst_t *burst, uint32_t pool, uint32_t depth);

/// @brief Let what happens from outside the program happen.
void sim_outside_begin(void);

#endif
