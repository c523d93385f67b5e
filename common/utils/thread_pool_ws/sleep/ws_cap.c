// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_cap.c
/// ws_cap.h.
#include "ws_cap.h"

uint32_t ws_working(const struct ws_pool_s *pool)
{
  const uint32_t awake = ws_awake(pool);
  const ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint32_t away = ws_hint_load(&shared->blocked) + ws_hint_load(&shared->starved);
  return awake > away ? awake - away : 0;
}

uint32_t ws_outside(const struct ws_pool_s *pool)
{
  const uint32_t helpers = ws_hint_load(&ws_sleep_pool(pool)->helpers);
  const uint32_t hinted = ws_hint_load(&ws_sleep_pool(pool)->outside);
  return helpers > hinted ? helpers : hinted;
}

uint32_t ws_awake_limit_beside(const struct ws_pool_s *pool, uint32_t outside)
{
  const uint32_t limit = pool->cpus > outside ? pool->cpus - outside : 1;
  const uint32_t cap = ws_hint_load(&ws_sleep_pool(pool)->cap);
  const uint32_t most = cap < pool->worker_cpus ? cap : pool->worker_cpus;
  return limit < most ? limit : most;
}

uint32_t ws_awake_limit(const struct ws_pool_s *pool)
{
  if (ws_hint_load(&ws_sleep_pool(pool)->cap) == 0 || ws_hint_load(&ws_sleep_pool(pool)->lifted))
    return pool->workers;
  return ws_awake_limit_beside(pool, ws_outside(pool));
}

uint32_t ws_awake_cap(const struct ws_pool_s *pool)
{
  const uint32_t cap = ws_hint_load(&ws_sleep_pool(pool)->cap);
  return cap < pool->workers ? cap : 0;
}

void ws_awake_cap_set(struct ws_pool_s *pool, uint32_t cap)
{
  ws_hint_store(&ws_sleep_pool(pool)->cap, cap == 0 && ws_sleep_pool(pool)->bounded ? pool->workers : cap);
}
