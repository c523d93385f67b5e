// SPDX-License-Identifier: BSD-3-Clause
/// @file arrivals.h
/// When slots come, and how large their bursts are. The simulated machine has this, too (tests/sim/time): a
/// seed has the same bursts there and here, for each pool.
#ifndef BENCH_ARRIVALS_H
#define BENCH_ARRIVALS_H

#include <math.h>
#include <stdint.h>

typedef enum {
  ARRIVALS_REGULAR, ///< each period
  ARRIVALS_EXPONENTIAL, ///< gaps by chance, a period in the mean
  ARRIVALS_ONOFF, ///< trains of 1 to 15 slots, one each period, then a silence by chance, of 10 in the mean
  ARRIVALS_FIRST, ///< each after half a period to one and a half
} rhythm_t;

typedef struct {
  rhythm_t rhythm;
  uint32_t varied; ///< 1 = a burst has a quarter of its tasks to all of them
  uint32_t left; ///< of the train
  uint64_t seed; ///< goes on with each draw (splitmix64)
} slot_arrivals_t;

/// @return a number of [0, 1)
static inline double arrivals_draw(slot_arrivals_t *arrivals)
{
  uint64_t z = arrivals->seed += UINT64_C(0x9E3779B97F4A7C15);
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

/// @return periods from one slot to the next
static inline double arrivals_gap(slot_arrivals_t *arrivals)
{
  if (arrivals->rhythm == ARRIVALS_EXPONENTIAL)
    return -log(1 - arrivals_draw(arrivals));
  if (arrivals->rhythm == ARRIVALS_FIRST)
    return 0.5 + arrivals_draw(arrivals);
  if (arrivals->rhythm == ARRIVALS_REGULAR || arrivals->left-- > 0)
    return 1;
  arrivals->left = (uint32_t)(arrivals_draw(arrivals) * 15);
  return 1 - 10 * log(1 - arrivals_draw(arrivals));
}

/// @return of a burst's tasks, how many come
static inline uint32_t arrivals_size(slot_arrivals_t *arrivals, uint32_t tasks)
{
  const uint32_t least = (tasks + 3) / 4;
  return arrivals->varied ? least + (uint32_t)(arrivals_draw(arrivals) * (tasks - least + 1)) : tasks;
}

#endif
