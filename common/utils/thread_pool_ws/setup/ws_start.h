// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_start.h
/// Make the workers' threads.
#ifndef WS_START_H
#define WS_START_H

#include "../pool/ws_types.h"

/// @brief Start pool->requested workers on the CPUs of @p cpu; returns when each has set itself up. Sets
/// pool->workers to the number of threads obtained; warns about each resource that could not be obtained. The
/// workers wait for ws_release_workers.
void ws_start_workers(struct ws_pool_s *pool, int32_t *cpu);

/// @brief Let the workers look for work: the pool is complete.
void ws_release_workers(struct ws_pool_s *pool);

#endif
