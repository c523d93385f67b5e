// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_queues.c
/// ws_queues.h.
#include "ws_queues.h"

#include "ws_inbox.h"

bool ws_work_visible(struct ws_pool_s *pool)
{
  for (uint32_t i = ws_queue_count(pool); i-- > 0;) // lanes first: they hold the bursts
    if (ws_deque_size(&pool->queue[i]->deque) > 0)
      return true;
  if (ws_load_relaxed(&pool->aside_used)) // relaxed: after the caller's fence [PARK_DEKKER]
    for (uint32_t i = 0; i < pool->workers; i++)
      if (ws_deque_size(&pool->worker[i].aside) > 0)
        return true;
  if (WS_UNLIKELY(ws_load_relaxed(&pool->starved) > 0) && ws_inbox_count(pool, true) > 0) // relaxed: as above
    return true;
  return ws_shared_visible(&pool->shared);
}

uint64_t ws_queued(struct ws_pool_s *pool)
{
  uint64_t queued = ws_shared_size(&pool->shared) + ws_inbox_count(pool, true);
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues; i++)
    queued += ws_deque_size(&pool->queue[i]->deque);
  for (uint32_t i = 0; i < pool->workers; i++)
    queued += ws_deque_size(&pool->worker[i].aside);
  return queued;
}
