// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_fault.h
/// What can go wrong on the simulated machine, and in which order threads move.
#ifndef SIM_FAULT_H
#define SIM_FAULT_H

#include "sim_thread.h" // IWYU pragma: export

/// How the order of steps is chosen, beyond what they cost.
typedef enum {
  SIM_ORDER_COSTS, ///< as the machine's costs say
  SIM_ORDER_RANDOM, ///< each step takes a random time
  /// Threads of unlike speed; at a few steps the one that runs becomes the slowest (PCT: Burckhardt et al.,
  /// ASPLOS 2010, with speeds in the place of priorities).
  SIM_ORDER_PCT,
} sim_order_t;

typedef struct {
  sim_order_t order;
  uint32_t changes; ///< PCT: steps at which a thread becomes the slowest
  uint64_t steps; ///< PCT: those are among so many
  double stall_share; ///< of steps at which the thread stops
  double stall_us_min, stall_us_max; ///< for how long: each order of magnitude as likely
  uint64_t stall_at; ///< number of a step at which it stops for starve_us; 0 = none
  double starve_us;
  double spurious_share; ///< of futex waits that end without a wake, half of them by a signal
  double late_share; ///< of timers that are late by up to 5 ms
  double create_share; ///< of threads that cannot be created
  uint32_t granted, refused; ///< threads until so many calls get none
  double map_share; ///< of mappings that fail
} sim_fault_t;

extern sim_fault_t sim_fault;
extern uint32_t sim_stalled; ///< threads that a fault has stopped
extern bool sim_fault_on; ///< any of the above that concerns steps

void sim_fault_begin(const sim_fault_t *fault);

/// @return time that the running thread's step takes longer by
sim_ps_t sim_fault_draw(void);
static inline sim_ps_t sim_fault_delay_ps(void)
{
  return __builtin_expect(sim_fault_on, 0) ? sim_fault_draw() : 0;
}

/// @brief A thread stops for a time, so many of its steps from now.
void sim_fault_stall_later(sim_thread_t *thread, uint32_t steps, sim_ps_t ps);

/// @return whether something of the given share happens now
bool sim_fault_happens(double share);

/// @return whether the system refuses a thread now
bool sim_fault_refuses(void);

/// @brief A thread of the real-time class takes a CPU for a time.
void sim_fault_hog(uint32_t cpu, sim_ps_t at_ps, sim_ps_t length_ps);

#endif
