// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_arrivals.h
/// When a producer's bursts come, and how large they are. They draw from a stream of their own, so a seed has
/// the same bursts for each pool.
#ifndef SIM_ARRIVALS_H
#define SIM_ARRIVALS_H

#include "sim_machine.h"

typedef enum {
  SIM_REGULAR, ///< each period
  SIM_EXPONENTIAL, ///< gaps by chance, a period in the mean
  SIM_ONOFF, ///< trains of 1 to 15 bursts, one each period, then a silence by chance, 10 periods in the mean
  SIM_FIRST, ///< each after a silence of half a period to one and a half
} sim_rhythm_t;

typedef struct {
  sim_rhythm_t rhythm;
  bool varied; ///< a phase has a quarter of its tasks to all of them
  uint32_t left; ///< of the train
  uint64_t random; ///< state of its stream
} sim_arrivals_t;

void sim_arrivals_seed(sim_arrivals_t *arrivals, uint64_t seed);

/// @return from one burst to the next
sim_ps_t sim_arrivals_gap(sim_arrivals_t *arrivals, double period_us);

/// @return of a phase's tasks, how many come
uint32_t sim_arrivals_size(sim_arrivals_t *arrivals, uint32_t tasks);

#endif
