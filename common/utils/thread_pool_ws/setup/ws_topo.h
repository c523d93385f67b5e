// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_topo.h
/// On which CPUs workers run, in which order they steal from each other, and the machine's NUMA nodes.
#ifndef WS_TOPO_H
#define WS_TOPO_H

#include "../pool/ws_nodes.h"
#include "../pool/ws_types.h"

/// @brief Decide the CPU of every worker from cores or pin_step: cpu[i] = CPU or -1. Warns about CPUs
/// that are offline, do not exist, or are named twice.
void ws_topo_plan(const ws_settings_t *settings, const ws_cpuset_t *mask, int32_t *cpu);

/// @brief CPUs that count for this pool: of @p mask and of cpu[0..workers), at most the control group's
/// quota.
uint32_t ws_topo_cpus(const ws_cpuset_t *mask, const int32_t *cpu, uint32_t workers);

/// @brief CPUs that the workers can use: the distinct ones of cpu[0..workers) when none floats, else @p cpus.
uint32_t ws_topo_worker_cpus(const int32_t *cpu, uint32_t workers, uint32_t cpus);

/// @brief Fill every worker's victims: first those that are pinned to CPUs of the same last-level cache, then
/// the others, both in turn from the worker's own index on. Call ws_near_plan() before.
void ws_topo_victims(struct ws_pool_s *pool);

/// @brief Read the machine's nodes. @param machine  zeroed. @return false = not known
bool ws_numa_read(ws_machine_nodes_t *machine);

/// @brief Plan the pool's nodes (ws_nodes_plan) and kinds. @param cpu  CPU of each worker, -1 = it floats
/// @threads  the creator, before there are workers
void ws_numa_plan(struct ws_pool_s *pool, const int32_t *cpu);

#endif
