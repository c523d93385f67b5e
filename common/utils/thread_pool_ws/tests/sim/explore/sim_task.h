// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_task.h
/// The steps of a task between its begin and its end, for tasks of all threads.
#ifndef SIM_TASK_H
#define SIM_TASK_H

#include "sim_record.h"

/// @brief Compute, sleep, push: as the task's burst and its depth say.
void sim_task_do(sim_record_t *record);

/// @brief The running thread begins the task of @p record: is its affinity what it must be (sim_mask.h)?
void sim_task_check(const sim_record_t *record);

/// @brief The thread is about to call the pool, or to return to it: it may stop in the middle of that.
void sim_task_before_call(void);

#endif
