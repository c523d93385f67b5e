// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_helper.c
/// ws_helper.h, and ws_blocking_begin() and ws_blocking_end() of ws_pool.h.
///
/// Nesting   A thread's CPU slots as a helper form a list, the innermost first, through its lanes. A blocking
///           section suspends the active slots when it begins, and resumes the same slots when it ends. So
///           sections may nest, and may contain new slots.
/// Counters  Each slot is counted once in its pool's helpers while it is active, and a thread that is not a
///           worker once in the process's count of helpers while any of its slots is active.
#include "ws_helper.h"

#include "../pool/ws_process.h"
#include "../pool/ws_steps.h"
#include "../tasks/ws_inbox.h"
#include "ws_affinity.h"
#include "ws_wake.h"

static void resume(ws_self_t *self, ws_queue_t *lane)
{
  lane->helping.suspended_at = 0;
  ws_add_acq_rel(&ws_sleep_pool(lane->helping.pool)->helpers, 1); // [edge SEARCHING acq_rel]
  if (!self->worker && self->active_slots++ == 0)
    ws_hint_add(&ws_process.helpers, 1);
}

static void suspend(ws_self_t *self, ws_queue_t *lane, uint32_t level)
{
  lane->helping.suspended_at = level;
  ws_sub_acq_rel(&ws_sleep_pool(lane->helping.pool)->helpers, 1); // [edge SEARCHING acq_rel]
  if (!self->worker && --self->active_slots == 0)
    ws_hint_add(&ws_process.helpers, 0u - 1);
}

bool ws_helper_begin(struct ws_pool_s *pool, ws_here_t here)
{
  if (here.worker || !here.queue)
    return false;
  ws_inbox_give_back(&pool->tasks, here.queue); // it runs tasks, or sleeps: that may take long
  if (here.queue->helping.pool)
    return false;
  ws_self_t *self = ws_self();
  ws_affinity_note_helper(pool, here.queue);
  here.queue->helping.pool = pool;
  here.queue->helping.outer = self->helps;
  self->helps = here.queue;
  resume(self, here.queue);
  return true;
}

void ws_helper_end(struct ws_pool_s *pool, ws_here_t here)
{
  ws_self_t *self = ws_self();
  self->helps = here.queue->helping.outer;
  if (here.queue->helping.suspended_at == 0)
    suspend(self, here.queue, 1); // any level: the slot is gone
  here.queue->helping.pool = NULL;
  ws_fill_slot(pool, here);
}

void ws_worker_blocks(struct ws_pool_s *pool)
{
  ws_add_acq_rel(&ws_sleep_pool(pool)->blocked, 1); // [edge SEARCHING acq_rel]
  ws_hint_add(&ws_process.awake, 0u - 1);
}

void ws_worker_goes_on(struct ws_pool_s *pool)
{
  ws_sub_acq_rel(&ws_sleep_pool(pool)->blocked, 1); // [edge SEARCHING acq_rel]
  ws_hint_add(&ws_process.awake, 1);
}

void ws_blocking_begin(void)
{
  ws_steps_before_wait(ws_steps_here());
  ws_self_t *self = ws_self();
  ws_worker_t *worker = self->worker;
  const uint32_t level = ++self->blocking;
  if (worker && worker->queue.helping.suspended_at == 0) {
    worker->queue.helping.suspended_at = level;
    ws_worker_blocks(worker->pool);
    ws_fill_slot(worker->pool, (ws_here_t){.queue = &worker->queue, .worker = worker});
  }
  for (ws_queue_t *lane = self->helps; lane; lane = lane->helping.outer) {
    if (lane->helping.suspended_at != 0)
      continue;
    suspend(self, lane, level);
    ws_hint_store(&ws_sleep_pool(lane->helping.pool)->outside, 0); // the next push sets it
    ws_fill_slot(lane->helping.pool, (ws_here_t){0});
  }
}

void ws_blocking_end(void)
{
  ws_self_t *self = ws_self();
  ws_worker_t *worker = self->worker;
  if (self->blocking == 0)
    return;
  const uint32_t level = self->blocking--;
  if (worker && worker->queue.helping.suspended_at == level) {
    worker->queue.helping.suspended_at = 0;
    ws_worker_goes_on(worker->pool);
  }
  for (ws_queue_t *lane = self->helps; lane; lane = lane->helping.outer)
    if (lane->helping.suspended_at == level)
      resume(self, lane);
}
