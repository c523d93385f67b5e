// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_random.h
/// Random numbers of the simulation: one stream, from one seed (xorshift64*, Vigna 2016).
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

extern uint64_t sim_random_state;

static inline void sim_random_seed(uint64_t seed)
{
  uint64_t z = seed + UINT64_C(0x9E3779B97F4A7C15); // splitmix64: near seeds give unlike streams
  z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
  sim_random_state = (z ^ (z >> 31)) | 1;
}

static inline uint64_t sim_random(void)
{
  sim_random_state ^= sim_random_state >> 12;
  sim_random_state ^= sim_random_state << 25;
  sim_random_state ^= sim_random_state >> 27;
  return sim_random_state * UINT64_C(0x2545F4914F6CDD1D);
}

/// @return an integer of [0, bound); 0 when @p bound is 0
static inline uint64_t sim_random_below(uint64_t bound)
{
  return (uint64_t)(((unsigned __int128)sim_random() * bound) >> 64);
}

/// @return a number of [0, 1)
static inline double sim_random_unit(void)
{
  return (double)(sim_random() >> 11) * 0x1p-53;
}

#endif
