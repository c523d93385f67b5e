// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lane.h
/// The queue of the calling thread. A worker of the pool has its own; any other thread takes a lane at its
/// first push and keeps it until it ends.
#ifndef WS_LANE_H
#define WS_LANE_H

#include "ws_process.h"

/// @brief Find, or take, the calling thread's lane when it is not in the thread's cache, and put it there.
/// May wait for a lock. @return NULL = none is free, or the pool is lost by a fork
WS_FOR_FIBERS ws_queue_t *ws_lane_find(struct ws_pool_s *pool);

/// @return the calling thread's queue and worker in @p pool. Both NULL = it is no worker there, and its cache
///         has no lane, though the thread may have one. Takes nothing
static inline ws_here_t ws_here_known(const struct ws_pool_s *pool)
{
  const ws_self_t *self = ws_self();
  if (self->worker && self->worker->pool == pool)
    return (ws_here_t){.queue = &self->worker->queue, .worker = self->worker};
  for (uint32_t i = 0; i < WS_LANE_CACHE; i++)
    if (WS_LIKELY(self->lane[i].pool_id == pool->id))
      return (ws_here_t){.queue = self->lane[i].lane};
  return (ws_here_t){0};
}

/// @return the calling thread's queue and worker in @p pool. A thread without a queue takes a lane, if one is
///         free
static inline ws_here_t ws_here(struct ws_pool_s *pool)
{
  ws_here_t here = ws_here_known(pool);
  if (WS_UNLIKELY(!here.queue))
    here.queue = ws_lane_find(pool);
  return here;
}

#endif
