// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_draw.h
/// Drawing a scenario from the stream of random numbers.
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_random.h"
#include "sim_scenario.h"

static inline uint32_t below(uint32_t bound)
{
  return (uint32_t)sim_random_below(bound);
}

static inline uint32_t between(uint32_t least, uint32_t most)
{
  return least + below(most - least + 1);
}

static inline bool one_in(uint32_t count)
{
  return below(count) == 0;
}

/// Each order of magnitude as likely.
static inline double log_between(double least, double most)
{
  return least * pow(most / least, sim_random_unit());
}

// Scenarios of one kind (sim_special.c): a scenario that was drawn is changed where that kind needs it.

/// @brief Many threads, and one lane that goes from one to the next.
void sim_special_crowd(sim_scenario_t *scenario);

/// @brief Few workers that spin, and are handed tasks; others take their CPUs while they do.
void sim_special_spinners(sim_scenario_t *scenario);

/// @brief Workers are handed tasks by threads and by dispatchers that stop in the middle of it; some stop for
/// so long that the workers have left, some until the pool has ended.
void sim_special_handovers(sim_scenario_t *scenario);

/// @brief Bursts of long tasks that come while a slow guard becomes dormant.
void sim_special_lulls(sim_scenario_t *scenario);

/// @brief Tasks on workers wait for many tasks under many others: a dig must not take quadratic time.
void sim_special_buries(sim_scenario_t *scenario);

/// @brief The pools lie behind a shim. They do not busy-poll without end.
void sim_special_shim(sim_scenario_t *scenario);

#endif
