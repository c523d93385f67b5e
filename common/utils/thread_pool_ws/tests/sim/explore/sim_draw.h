// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_draw.h
/// Drawing a scenario from the stream of random numbers.
#ifndef SIM_DRAW_H
#define SIM_DRAW_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim_random.h"

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

#endif
