// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_run.c
/// ws_run.h.
#include "ws_run.h"

#include "../pool/ws_lane.h"
#include "../sleep/ws_helper.h"
#include "../trace/ws_traced.h"
#include "ws_escape.h"

const uint64_t ws_root_mixed = 0;

const ws_task_t *ws_current_task(void)
{
  return ws_self()->task;
}

bool ws_is_inside(const struct ws_pool_s *pool, ws_here_t here)
{
  if (here.queue && here.queue->depth > 0)
    return true;
  const ws_laneless_t *laneless = ws_self()->laneless;
  while (laneless && laneless->pool != pool->id)
    laneless = laneless->outer;
  return laneless != NULL;
}

ws_pool_t *ws_pool_if_inside(ws_pool_t *pool)
{
  const ws_self_t *self = ws_self();
  return self->runs_in == pool || (self->worker && self->worker->pool == pool) ? pool : NULL;
}

/// Call the function of a task, which is the current one meanwhile. The thread cannot be cancelled.
/// @param is_noted  with events
__attribute__((always_inline)) static inline void call_task(struct ws_pool_s *pool, const ws_task_t *task,
                                                            bool is_noted)
{
  WS_NOTHING_ESCAPES();
  ws_self_t *self = ws_self();
  const ws_task_t *outer = self->task;
  self->task = task;
  if (is_noted)
    ws_traced_run_begin(pool, task);
  task->func(task->arg);
  if (is_noted)
    ws_traced_run_end(pool, task);
  self->task = outer;
}

bool ws_skip_report(const struct ws_pool_s *pool, const ws_task_t *task, ws_task_t *notice)
{
  WS_NOTHING_ESCAPES();
  const int cancel = ws_cancel_disable();
  const ws_task_t *outer = ws_self()->task;
  const ws_skip_t *skip = pool->skips;
  if (outer) // maybe a fiber, which stays on its thread then, as for a task
    ws_self()->task = task;
  while (skip && skip->func != task->func)
    skip = skip->next;
  *notice = *task;
  if (skip && skip->as_task)
    notice->func = skip->skip;
  else if (skip)
    skip->skip(task->arg);
  else if (pool->settings.skipped)
    pool->settings.skipped(pool->settings.skipped_arg, task);
  ws_self()->task = outer;
  ws_cancel_restore(cancel);
  return skip && skip->as_task;
}

/// An abort has come to a task. It is counted and reported as skipped, unless it is a fiber's: then its
/// notice does that, or goes on with a fiber that has begun. @return whether @p notice is to run in its place
WS_SELDOM static bool has_notice(struct ws_pool_s *pool, const ws_task_t *task, ws_task_t *notice)
{
  const ws_hooks_t *hooks = ws_process_hooks();
  if (hooks && hooks->aborts(task, notice))
    return true; // the fiber has begun, or is counted there
  ws_add_relaxed(&pool->count.skipped, 1); // relaxed: read after the workers have ended
  return ws_skip_report(pool, task, notice);
}

/// Run a task with events, or skip it: apart from ws_run(), so that a plain run pays one branch for both.
WS_SELDOM static void run_not_plainly(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task,
                                      bool is_skipped)
{
  ws_task_t notice;
  if (is_skipped && !has_notice(pool, task, &notice))
    return;
  queue->depth++;
  call_task(pool, is_skipped ? &notice : task, true);
  queue->depth--;
}

void ws_run(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task)
{
  const uint32_t runs = ws_load_relaxed(&pool->runs); // relaxed: an abort takes effect soon
  if (WS_UNLIKELY(runs != WS_RUNS_PLAINLY)) {
    run_not_plainly(pool, queue, task, runs == WS_RUNS_SKIPPED);
    return;
  }
  queue->depth++;
  call_task(pool, task, false);
  queue->depth--;
}

void ws_complete_due(ws_worker_t *worker)
{
  const uint32_t tasks = worker->due.tasks;
  worker->due.tasks = 0;
  if (tasks > 0)
    ws_complete(worker->pool, &worker->queue, worker->due.group, tasks);
}

/// A task has run outside ws_run(), or was skipped: complete its group, count it, wake waits for the pool.
static void finish(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  ws_complete(pool, here.queue, task->group, 1);
  ws_note_idle(pool);
}

/// Run, complete and count a task, inline or late; also for a thread without a queue. The task may push and
/// join, even while the pool stops. Wakes threads that wait for the pool.
static void run_here(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  if (!here.queue)
    here = ws_here_known(pool); // the thread may have got a lane in a task before
  ws_self_t *self = ws_self();
  ws_laneless_t inside = {.pool = pool->id, .outer = self->laneless};
  const int cancel = ws_cancel_disable();
  // A thread outside that runs a task uses a CPU and may join inside the task, like a helper.
  const bool helps = ws_helper_begin(pool, here);
  if (here.queue)
    here.queue->depth++;
  else
    self->laneless = &inside;
  struct ws_pool_s *const ran_in = self->runs_in;
  self->runs_in = pool;
  call_task(pool, task, WS_PROBE_SEEN());
  self->runs_in = ran_in;
  if (here.queue)
    here.queue->depth--;
  else if (inside.lane)
    inside.lane->depth--;
  self->laneless = inside.outer;
  if (helps)
    ws_helper_end(pool, here);
  finish(pool, here, task);
  ws_cancel_restore(cancel);
}

void ws_run_inline(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  if (here.queue)
    ws_count(&here.queue->count.inlined, 1);
  else
    ws_stat_add(&pool->count.laneless_inline, 1);
  ws_traced_push(pool, here, task, 1);
  ws_count_pushed(pool, here.queue, 1); // a pool is not idle while it runs
  run_here(pool, here, task);
}

void ws_run_late(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  ws_task_t notice;
  // relaxed: written before STOPPED, if the caller has seen that; else an abort takes effect soon
  if (ws_load_relaxed(&pool->runs) != WS_RUNS_SKIPPED)
    run_here(pool, here, task);
  else if (has_notice(pool, task, &notice))
    run_here(pool, here, &notice);
  else
    finish(pool, here, task);
}

void ws_run_whole(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  if (!here.queue) {
    ws_run_late(pool, here, task);
    return;
  }
  ws_group_t *before = ws_root_enter(here.queue, task->group);
  ws_run(pool, here.queue, task);
  ws_root_leave(here.queue, before); // before the group can end
  ws_complete(pool, here.queue, task->group, 1);
}

void ws_count_pushed(struct ws_pool_s *pool, ws_queue_t *queue, uint64_t tasks)
{
  if (queue) // [edge POOL_IDLE release]
    ws_store_release(&queue->count.pushed, ws_own_load(&queue->count.pushed) + tasks);
  else
    ws_add_release(&pool->count.laneless_pushed, tasks); // [edge POOL_IDLE release]
}

void ws_note_idle(struct ws_pool_s *pool)
{
  // [edge IDLE_DEKKER fence] The store of the run counter before the load of the waiters. Without the fence
  // this thread can read that no thread waits while a wait reads the old counter: it sleeps, and is not
  // woken.
  ws_fence_seq_cst();
  if (ws_load_relaxed(&pool->idle_waiters) == 0) // relaxed: after the fence
    return;
  ws_add_release(&pool->idle_times, 1); // [edge IDLE_SEQ release] a waiter that saw the old value looks again
  ws_os_futex_wake(&pool->idle_times, WS_SLEEPERS_ALL);
}
