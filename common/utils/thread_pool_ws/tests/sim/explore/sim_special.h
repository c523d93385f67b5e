// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_special.h
/// Scenarios of one kind: a scenario that was drawn is changed where that kind needs it.
#ifndef SIM_SPECIAL_H
#define SIM_SPECIAL_H

#include "sim_scenario.h"

/// @brief Many threads, and one lane that goes from one to the next.
void sim_special_crowd(sim_scenario_t *scenario);

/// @brief Few workers that spin, and are handed tasks; others take their CPUs while they do.
void sim_special_spinners(sim_scenario_t *scenario);

/// @brief Workers are handed tasks by threads and by dispatchers that stop in the middle of it; some stop for
/// so long that the workers have left, some until the pool has ended.
void sim_special_handovers(sim_scenario_t *scenario);

/// @brief Bursts of long tasks that come while a slow guard becomes dormant.
void sim_special_lulls(sim_scenario_t *scenario);

/// @brief Tasks wait for a group whose tasks lie under others in the queue of the same thread, while thieves
/// take from its other end.
void sim_special_digs(sim_scenario_t *scenario);

/// @brief Tasks on workers wait for many tasks under many others: a dig must not take quadratic time.
void sim_special_buries(sim_scenario_t *scenario);

/// @brief Few workers, and stops beside the last tasks and events of a pool.
void sim_special_stops(sim_scenario_t *scenario);

/// @brief The pools lie behind a shim. They do not busy-poll without end.
void sim_special_shim(sim_scenario_t *scenario);

#endif
