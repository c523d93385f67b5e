// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_cap.h
/// The cap: how many workers of a pool may be awake. PARK.md says why, and when the guard lifts it.
#ifndef WS_CAP_H
#define WS_CAP_H

#include "ws_sleep_state.h" // IWYU pragma: export

/// @return workers that do not sleep for want of work
static inline uint32_t ws_awake(const struct ws_pool_s *pool)
{
  uint32_t asleep = 0;
  for (uint32_t i = 0; i < pool->tasks.mask_words; i++)
    asleep += (uint32_t)__builtin_popcountll(ws_hint_load(&ws_sleep_pool(pool)->sleepers[i]));
  return pool->workers - asleep;
}

/// @return workers awake, less those that block or get no CPU
uint32_t ws_working(const struct ws_pool_s *pool);

/// @return the cap: workers that may be awake now. The CPUs less those that threads outside use; all workers
///         while tasks block
uint32_t ws_awake_limit(const struct ws_pool_s *pool);

/// @return threads outside that are thought to need a CPU: they help, or push
uint32_t ws_outside(const struct ws_pool_s *pool);

/// @return the cap of a pool whose cap is not lifted, if @p outside threads outside need a CPU
uint32_t ws_awake_limit_beside(const struct ws_pool_s *pool, uint32_t outside);

/// @return the cap that was set while the pool runs; 0 = none
uint32_t ws_awake_cap(const struct ws_pool_s *pool);

/// @brief Bound the awake workers further, or not (0), as long as no tasks block. A preference, too.
void ws_awake_cap_set(struct ws_pool_s *pool, uint32_t cap);

#endif
