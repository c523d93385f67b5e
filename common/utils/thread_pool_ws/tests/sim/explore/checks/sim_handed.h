// SPDX-License-Identifier: BSD-3-Clause
/// @file sim_handed.h
/// What threads hand to each other is not left lying: tasks in inboxes, claims of workers,
/// and counts of searchers.
#ifndef SIM_HANDED_H
#define SIM_HANDED_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../../include/ws_pool.h"
#include "../../../../tasks/ws_tasks.h"

/// @brief Of a pool whose workers sleep or have ended.
void sim_handed_check(const ws_pool_t *pool, uint32_t index);

/// @brief A thread is about to fill the inbox of the next worker of its claim.
void sim_handed_check_fill(const ws_pool_t *pool, const ws_claim_t *claim);

/// @brief Of a pool that runs: may a worker that sleeps be given a task, and does a thread that sleeps in a
/// wait have claims? @param is_calm  no thread is kept from what it is about to do
void sim_handed_look(const ws_pool_t *pool, uint32_t index, bool is_calm);

/// @return whether the searchers of each domain are none
bool sim_handed_is_none_searched(const ws_pool_t *pool);

#endif
