// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_event.h
/// What will happen on the simulated machine, in order of time; at the same time, in order of entry.
#ifndef SIM_EVENT_H
#define SIM_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim_machine.h"

typedef enum {
  SIM_EVENT_RUN, ///< a thread goes on
  SIM_EVENT_TIMEOUT, ///< a sleep is over
  SIM_EVENT_SLICE, ///< a CPU looks whether another thread's turn has come
  SIM_EVENT_CALL, ///< a function of the scenario is called
} sim_event_kind_t;

typedef struct {
  sim_ps_t at_ps;
  uint64_t order;
  sim_event_kind_t kind;
  uint32_t subject; ///< index of the thread or the CPU
  uint32_t generation; ///< of the subject when the event was made: if it has another by now, nothing happens
  void (*call)(void *arg, sim_ps_t now_ps);
  void *arg;
} sim_event_t;

void sim_event_add(sim_event_t event);

/// @return false = nothing will happen any more
bool sim_event_next(sim_event_t *event);

/// Time of the next event; a time that is never reached when there is none.
extern sim_ps_t sim_event_soonest_ps;

/// Of the times, kinds and subjects of all events so far: equal in two runs that were the same.
extern uint64_t sim_event_hash;

#endif
