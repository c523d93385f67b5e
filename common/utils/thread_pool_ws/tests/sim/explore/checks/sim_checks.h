// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_checks.h
/// What must be so at any time, when nothing happens, and when everything is over.
#ifndef SIM_CHECKS_H
#define SIM_CHECKS_H

#include "../../../../include/ws_pool.h" // IWYU pragma: export
#include "../../../../tasks/ws_tasks.h" // IWYU pragma: export
#include "sim_record.h" // IWYU pragma: export
#include "sim_thread.h" // IWYU pragma: export

// sim_handed.c: what threads hand to each other is not left lying: tasks in inboxes, reserved workers, and
// counts of searchers.

/// @brief Of a pool whose workers sleep or have ended.
void sim_handed_check(const ws_pool_t *pool, uint32_t index);

/// @brief A thread is about to fill the inbox of the next worker that it has reserved.
void sim_handed_check_fill(const ws_pool_t *pool, const ws_reserved_t *reserved);

/// @brief Of a pool that runs: may a worker that sleeps be given a task, and does a thread that sleeps in a
/// wait have workers reserved? @param is_calm  no thread is kept from what it is about to do
void sim_handed_look(const ws_pool_t *pool, uint32_t index, bool is_calm);

/// @return whether the searchers of each domain are none
bool sim_handed_is_none_searched(const ws_pool_t *pool);

// sim_mask.c: a worker that runs a task may use every CPU that the operator left it, and no other.

/// @brief The operator lets @p thread use the CPUs @p mask only. Called before the thread has that affinity.
void sim_mask_tell(const sim_thread_t *thread, uint64_t mask);

/// @brief The running thread runs the task of @p record: is its affinity what it must be?
void sim_mask_check(const sim_record_t *record);

/// @brief @p pool is new: may its guard use all CPUs that its workers may use?
void sim_mask_check_guard(const ws_pool_t *pool);

// sim_quiet.c

/// @brief Check, when everything has run: within a time all workers sleep, and no count includes one.
void sim_quiet_check(ws_pool_t *pool, uint32_t index);
/// @brief Nothing pushes or waits any more: workers that a push may have spared run what is queued.
void sim_quiet_check_spared(ws_pool_t *pool, uint32_t index);

/// @brief The pool has stopped: do its statistics add up?
void sim_quiet_check_stopped(ws_pool_t *pool, uint32_t index);

/// @brief All pools are gone: threads, memory, and what is counted for the process.
void sim_quiet_check_end(void);

// sim_strand.c: no task waits while a worker sleeps and could run it.

/// The longest time that a task has waited so, and what ends a scenario. The bound is the sum of what the
/// guard takes in the worst case: see docs/simulation.md.
extern sim_ps_t sim_strand_longest_ps;

/// @brief Look from now on, each 0.25 ms of virtual time. Also ends the process with a finding when nothing
/// can happen any more.
void sim_strand_begin(void);

/// @return whether a thread is of another program
bool sim_is_hog(const sim_thread_t *thread);

#endif
