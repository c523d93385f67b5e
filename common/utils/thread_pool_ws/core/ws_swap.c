// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_swap.c
/// ws_swap.h.
#include "ws_swap.h"

#include "../pool/ws_queue.h"
#include "../sleep/ws_wake.h"
#include "../trace/ws_traced.h"
#include "ws_root.h"
#include "ws_run.h"

/// The worker's queue is not empty, has room, and holds all that the worker would look at next.
static inline bool may_swap(const struct ws_pool_s *pool, ws_queue_t *queue)
{
  return ws_queue_size(queue) > 0 && ws_queue_has_room(queue, 1)
         // relaxed: preferences
         && (ws_load_relaxed(&pool->kinds_used) | ws_load_relaxed(&pool->aborted)) == 0;
}

ws_swap_t ws_swap(ws_worker_t *worker, const ws_task_t *task, ws_task_t *oldest)
{
  ws_queue_t *queue = &worker->queue;
  struct ws_pool_s *pool = worker->pool;
  const ws_here_t here = {.queue = queue, .worker = worker};
  if (WS_UNLIKELY(!may_swap(pool, queue)))
    return WS_SWAP_NOT;
  const ws_task_t before = {.func = task->func, .arg = task->arg}; // once it is pushed it may be gone
  ws_traced_push(pool, here, task, 1);
  ws_count_pushed(pool, queue, 1);
  ws_queue_push(queue, task, 1);
  if (WS_LIKELY(queue->depth == 1)) // not in a wait
    ws_root_end(queue); // what follows does not belong to the task's group
  const bool took = ws_queue_take_oldest_of(queue, before.func, oldest);
  // [edge PARK_DEKKER fence] the pushed task before sleepers; the take ends with a CAS
  took ? ws_fence_seq_cst_after_rmw() : ws_fence_seq_cst();
  if (WS_UNLIKELY(ws_has_sleepers(pool)))
    ws_post(pool, here);
  if (!took)
    return WS_SWAP_PUSHED;
  ws_count_run(queue, 1); // the run of the task that has stopped
  ws_traced_run_end(pool, &before);
  ws_traced_run_begin(pool, oldest);
  return WS_SWAP_TAKEN;
}
