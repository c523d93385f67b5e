// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_setup.h
/// The steps of ws_pool_create(): settings, CPUs and nodes, threads.
#ifndef WS_SETUP_H
#define WS_SETUP_H

#include "../pool/ws_types.h"

// ws_settings.c

/// @brief Copy and check a caller's settings, of another size maybe; fields that the caller's lack get their
/// defaults. Rounds queue_capacity up. A NULL name becomes "ws".
/// @return 0; -EINVAL with a warning if their size is below that of the first version, if a field is set that
///         @p settings does not have, about the first field that is out of range, or if new threads' stack is
///         too small
int ws_settings_take(ws_settings_t *settings, const ws_settings_t *given);

// ws_topo.c

/// @brief Decide the CPU of every worker from cores, or pin_first and pin_step: cpu[i] = CPU or -1. Warns
/// about numbers in cores below -1, and about the first CPU that is named twice. Whether a CPU exists and is
/// online shows at the start of its worker.
void ws_topo_plan(const ws_settings_t *settings, const ws_cpuset_t *mask, int32_t *cpu);

/// @brief Set pool->allowed_cpus: CPUs of pool->mask and of cpu[0..workers), at least 1. Set pool->cpus: as
/// many, at most the control group's quota. Set pool->worker_cpus: the distinct ones of cpu[] if no worker
/// floats and they are fewer, else as many. Call after ws_start_workers().
void ws_topo_count(struct ws_pool_s *pool, const int32_t *cpu);

/// @brief Fill every worker's victims: first those that are pinned to CPUs of the same last-level cache, then
/// the others, both in turn from the worker's own index on. Call ws_near_plan() before.
void ws_topo_victims(struct ws_pool_s *pool);

// ws_start.c

/// @brief Start the guard, and pool->requested workers on the CPUs of @p cpu; without a guard none. Returns
/// when each worker that has a thread has set itself up, or none has for WS_START_NS_MAX. All wait for
/// WS_STARTED_ALL. Sets pool->workers to the number of those that have a thread or may get one later,
/// pool->obtained, pinned, signals and make_missing; warns about each kind of resource that could not be
/// obtained.
/// @param cpu  as ws_topo_plan(); a CPU that its worker could not get becomes -1
void ws_start_workers(struct ws_pool_s *pool, int32_t *cpu);

#endif
