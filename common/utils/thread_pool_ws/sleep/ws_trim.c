// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_trim.c
/// ws_idle.h.
#include "ws_idle.h"

#include "../tasks/ws_queue.h"
#include "ws_wake.h"

/// If a queue shrinks more often than this, no worker is woken for it: the next worker that parks will find
/// the pages.
#define GIVE_BACK_EVERY_NS 10000000u

void ws_trim_own(ws_worker_t *worker)
{
  ws_queue_shrink(&worker->pool->tasks, &worker->queue);
}

WS_SELDOM static void give_back(struct ws_pool_s *pool, ws_here_t here)
{
  if (!ws_queue_shrink(&pool->tasks, here.queue))
    return;
  const uint64_t now_ns = ws_os_now_ns();
  // else the burst that follows will need it again
  if (now_ns - here.queue->gave_back_ns > GIVE_BACK_EVERY_NS) {
    // [edge PARK_DEKKER fence] the loose pages before the sleepers: else a worker that parks at this moment
    // could miss the pages, this thread the worker, and the memory would stay until a worker parks next
    ws_fence_seq_cst();
    ws_wake_sleeper(pool, here); // all may be parked: it finds the loose pages when it parks again
  }
  here.queue->gave_back_ns = now_ns;
}

void ws_give_back(struct ws_pool_s *pool, ws_here_t here)
{
  if (WS_UNLIKELY(ws_queue_may_shrink(here.queue)))
    give_back(pool, here);
}
