// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_setup.h
/// The steps of ws_pool_create(): settings, CPUs and nodes, threads.
#ifndef WS_SETUP_H
#define WS_SETUP_H

#include "../pool/ws_types.h"

// ws_settings.c

/// @brief Copy and check a caller's settings, of another size maybe; fields that the caller's lack get their
/// defaults. Rounds queue_capacity up.
/// @return 0; -EINVAL with a warning if their size is that of no version, if a field is set that @p settings
///         does not have, and about the first field that is out of range
int ws_settings_take(ws_settings_t *settings, const ws_settings_t *given);

// ws_topo.c

/// @brief Decide the CPU of every worker from cores, or pin_first and pin_step: cpu[i] = CPU or -1. Warns
/// about CPUs that are offline, do not exist, or are named twice.
void ws_topo_plan(const ws_settings_t *settings, const ws_cpuset_t *mask, int32_t *cpu);

/// @brief Set pool->cpus: CPUs that count for this pool, of pool->mask and of cpu[0..workers), at most the
/// control group's quota. Set pool->worker_cpus: the distinct ones of cpu[] when none floats, else as many.
void ws_topo_count(struct ws_pool_s *pool, const int32_t *cpu);

/// @brief Fill every worker's victims: first those that are pinned to CPUs of the same last-level cache, then
/// the others, both in turn from the worker's own index on. Call ws_near_plan() before.
void ws_topo_victims(struct ws_pool_s *pool);

// ws_start.c

/// @brief Start the guard, and pool->requested workers on the CPUs of @p cpu; returns when each worker has
/// set itself up. Sets pool->workers to the number of those that have a thread or may get one later; warns
/// about each resource that could not be obtained. All wait for WS_STARTED_ALL.
void ws_start_workers(struct ws_pool_s *pool, int32_t *cpu);

#endif
