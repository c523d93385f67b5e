// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_arrivals.c
/// sim_arrivals.h.
#include "sim_arrivals.h"

#include <math.h>

#include "sim_random.h"

#define TRAIN_MAX 15u
#define SILENCE_PERIODS 10

void sim_arrivals_seed(sim_arrivals_t *arrivals, uint64_t seed)
{
  const uint64_t machine = sim_random_state;
  sim_random_seed(seed);
  arrivals->random = sim_random_state;
  sim_random_state = machine;
}

/// @return a number of [0, 1)
static double draw(sim_arrivals_t *arrivals)
{
  const uint64_t machine = sim_random_state;
  sim_random_state = arrivals->random;
  const double unit = sim_random_unit();
  arrivals->random = sim_random_state;
  sim_random_state = machine;
  return unit;
}

static double gap_in_periods(sim_arrivals_t *arrivals)
{
  if (arrivals->rhythm == SIM_EXPONENTIAL)
    return -log(1 - draw(arrivals));
  if (arrivals->rhythm == SIM_FIRST)
    return 0.5 + draw(arrivals);
  if (arrivals->rhythm == SIM_REGULAR || arrivals->left-- > 0)
    return 1;
  arrivals->left = (uint32_t)(draw(arrivals) * TRAIN_MAX);
  return 1 - log(1 - draw(arrivals)) * SILENCE_PERIODS;
}

sim_ps_t sim_arrivals_gap(sim_arrivals_t *arrivals, double period_us)
{
  return (sim_ps_t)(gap_in_periods(arrivals) * period_us * 1e6);
}

uint32_t sim_arrivals_size(sim_arrivals_t *arrivals, uint32_t tasks)
{
  const uint32_t least = (tasks + 3) / 4;
  return arrivals->varied ? least + (uint32_t)(draw(arrivals) * (tasks - least + 1)) : tasks;
}
