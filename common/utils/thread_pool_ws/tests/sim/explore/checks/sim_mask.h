// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_mask.h
/// Affinities: a worker that runs a task may use every CPU that the operator left it, and no other.
#ifndef SIM_MASK_H
#define SIM_MASK_H

#include "sim_record.h"
#include "sim_thread.h"

/// @brief The operator lets @p thread use the CPUs @p mask only. Called before the thread has that affinity.
void sim_mask_tell(const sim_thread_t *thread, uint64_t mask);

/// @brief The running thread runs the task of @p record: is its affinity what it must be?
void sim_mask_check(const sim_record_t *record);

/// @brief @p pool is new: may its guard use all CPUs that its workers may use?
void sim_mask_check_guard(const ws_pool_t *pool);

#endif
