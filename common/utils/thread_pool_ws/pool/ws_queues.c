// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queues.c
/// ws_queues.h.
#include "ws_queues.h"

#include "ws_inbox.h"
#include "ws_kind.h"
#include "ws_queue.h"

bool ws_work_visible(struct ws_pool_s *pool)
{
  for (uint32_t i = ws_queue_count(pool); i-- > 0;) // lanes first: they hold the bursts
    if (ws_queue_size(pool->queue[i]) > 0)
      return true;
  if (ws_load_relaxed(&pool->aside_used)) // relaxed: after the caller's fence [PARK_DEKKER]
    for (uint32_t i = 0; i < pool->workers; i++)
      if (ws_aside_size(pool->worker[i]) > 0)
        return true;
  // relaxed: as above
  if (WS_UNLIKELY(ws_load_relaxed(&pool->kinds_made)) && ws_kind_queued(pool) > 0) {
    ws_kind_use(pool, ws_os_now_ns()); // else searches could miss the task
    return true;
  }
  if (WS_UNLIKELY(ws_load_relaxed(&pool->starved) > 0) && ws_inbox_count(pool, true) > 0) // relaxed: as above
    return true;
  return ws_shared_visible(&pool->shared);
}

uint64_t ws_queued(struct ws_pool_s *pool)
{
  uint64_t queued = ws_shared_size(&pool->shared) + ws_inbox_count(pool, true);
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues; i++)
    queued += ws_queue_size(pool->queue[i]);
  for (uint32_t i = 0; i < pool->workers; i++)
    queued += ws_aside_size(pool->worker[i]);
  return queued + ws_kind_queued(pool);
}

bool ws_queues_trim(struct ws_pool_s *pool, bool now)
{
  bool due = false;
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues; i++)
    due |= ws_queue_trim(pool->queue[i], now);
  for (uint32_t i = 0; i < pool->workers; i++)
    due |= ws_aside_trim(pool->worker[i], now);
  return due;
}
