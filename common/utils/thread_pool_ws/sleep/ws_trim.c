// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_trim.c
/// ws_trim.h.
#include "ws_trim.h"

#include "ws_wake.h"


/// A queue that shrinks more often wakes nobody for it: the next worker that parks will find its pages.
#define GIVE_BACK_EVERY_NS 10000000u

bool ws_trim_due(struct ws_pool_s *pool, bool now)
{
  bool due = false;
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues + pool->workers; i++) {
    ws_deque_t *deque = i < queues ? &pool->queue[i]->deque : &pool->worker[i - queues].aside;
    if (ws_load_relaxed(&deque->loose) != WS_LOOSE_PAGES) // relaxed: ws_deque_trim decides
      continue;
    due = true;
    if (now)
      ws_deque_trim(deque);
  }
  return due;
}

void ws_give_back(struct ws_pool_s *pool, ws_here_t here)
{
  if (!ws_deque_shrink(&here.queue->deque))
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
