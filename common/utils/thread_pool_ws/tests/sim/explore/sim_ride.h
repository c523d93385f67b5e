// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_ride.h
/// Tasks that stand for fibers that yield: as fiber/ws_fiber_run.c, but without stacks. The task computes,
/// and yields until the task that was pushed before it has begun. It never blocks its thread. So each policy
/// that keeps some task from its turn makes a scenario that does not end.
#ifndef SIM_RIDE_H
#define SIM_RIDE_H

#include "sim_record.h"

/// @return whether the task of this record may yield: a task at the end of its burst's tree, of a group
bool sim_ride_may(const sim_record_t *record);

/// @brief Run such a task, and those that the thread goes on with. @param end  called when one has ended
void sim_ride(sim_record_t *record, void (*end)(sim_record_t *record));

#endif
