// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_front.h
/// What the threads of a scenario use the core through: its own interface, or a shim.
#ifndef SIM_FRONT_H
#define SIM_FRONT_H

#include "sim_scenario.h"

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

extern const sim_front_t sim_core_front, sim_fifo_front, sim_array_front, sim_counter_front;

#endif
