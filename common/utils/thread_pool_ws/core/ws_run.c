// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_run.c
/// ws_run.h.
#include "ws_run.h"

#include <limits.h>

#include "ws_park.h"

void ws_run(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task)
{
  if (WS_LIKELY(ws_load_relaxed(&pool->state) != WS_ABORTING)) { // relaxed: an abort takes effect soon
    queue->depth++;
    task->func(task->arg);
    queue->depth--;
  } else {
    ws_add_relaxed(&pool->skipped, 1); // relaxed: read after the workers have ended
  }
}

void ws_count_run(ws_queue_t *queue, uint32_t tasks)
{
  const uint64_t run = ws_load_relaxed(&queue->count.run); // relaxed: only the owner writes it
  ws_store_release(&queue->count.run, run + tasks); // [edge POOL_IDLE release] what the tasks wrote
}

void ws_run_inline(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  // A thread outside that runs a task uses a CPU, and may join in the task, as one that helps does.
  const bool helper = here.queue && !here.worker && here.queue->depth == 0;
  if (helper)
    ws_helper_begin(pool, here.queue);
  if (here.queue) {
    here.queue->depth++;
    ws_count(&here.queue->count.inlined, 1);
  } else {
    ws_add_relaxed(&pool->laneless_inline, 1); // relaxed: a statistic
  }
  task->func(task->arg);
  if (here.queue)
    here.queue->depth--;
  if (helper)
    ws_helper_end(pool);
  if (task->group)
    ws_group_complete(task->group, 1);
}

void ws_run_late(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  if (!ws_load_relaxed(&pool->aborted)) // relaxed: written before STOPPED, which the caller has seen
    task->func(task->arg);
  else
    ws_add_relaxed(&pool->skipped, 1); // relaxed: a statistic by now
  if (task->group)
    ws_group_complete(task->group, 1);
  if (here.queue)
    ws_count_run(here.queue, 1);
  else
    ws_add_release(&pool->laneless_run, 1); // [edge POOL_IDLE release]
  ws_note_idle(pool);
}

void ws_note_idle(struct ws_pool_s *pool)
{
  ws_fence_seq_cst(); // [edge IDLE_DEKKER fence] the run counter before waiters
  if (ws_load_relaxed(&pool->waiters) == 0) // relaxed: after the fence
    return;
  ws_add_release(&pool->idle, 1); // [edge IDLE_SEQ release] a waiter that saw the old value looks again
  ws_os_futex_wake(&pool->idle, INT_MAX);
}
