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

/// @return workers that may be awake and not blocked now: the CPUs less those that threads outside use, at
///         least one, and at most the cap that was set; all workers while the cap is lifted, or without one
uint32_t ws_awake_limit(const struct ws_pool_s *pool);

/// @return threads outside that are thought to need a CPU: those that help; at least 1 if some push
uint32_t ws_outside(const struct ws_pool_s *pool);

/// @return what ws_awake_limit() returns in a pool with a cap that is not lifted, if @p outside threads
///         outside need a CPU
uint32_t ws_awake_limit_beside(const struct ws_pool_s *pool, uint32_t outside);

/// @return the cap that was set while the pool runs; 0 = none, or one that allows all workers
uint32_t ws_awake_cap(const struct ws_pool_s *pool);

/// @brief Let at most @p cap workers be awake, as long as no tasks block; 0 = as many as the CPUs allow,
/// where workers outnumber them, else all. Only later wakes obey it: no worker is put to sleep.
void ws_awake_cap_set(struct ws_pool_s *pool, uint32_t cap);

#endif
