// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_worker.c
/// Life of a task, step 5: the worker's loop. Before: ws_find.h; after: ws_run.h.
///
///   RUN --no task--> SPIN (ws_spin.c) --window over--> PARKED (ws_park.c)
///    ^                 |                       |
///    |___ task found __|____ claimed __________|
#include "ws_run.h"

#include "../pool/ws_process.h"
#include "../pool/ws_types.h"
#include "../pool/ws_warn.h"
#include "../sleep/ws_idle.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_places.h"
#include "../trace/ws_traced.h"
#include "ws_deal.h"
#include "ws_find.h"
#include "ws_root.h"
#include "ws_survive.h"

/// Take the task that was handed to the worker, or find one.
static bool next(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  here.worker->was_handed = false;
  if (WS_UNLIKELY(ws_inbox_has_gone(&here.worker->inbox)))
    here.worker->handed = ws_inbox_look(&here.worker->inbox);
  if (WS_LIKELY(!here.worker->handed))
    return ws_find(pool, here, task);
  here.worker->handed = false;
  here.worker->was_handed = true;
  ws_inbox_empty(&here.worker->inbox, task);
  ws_traced_steal(pool, here, WS_VICTIM_INBOX);
  ws_count(&here.queue->count.stolen, 1);
  return true;
}

/// @return whether the completion of the last task can wait until the next one is found: a search will
/// probably find one at once, or comes to a lane that is dealt (ws_deal() completes what is due)
static inline bool may_complete_later(struct ws_pool_s *pool, ws_here_t here)
{
  const ws_worker_t *worker = here.worker;
  const bool is_served = WS_UNLIKELY(worker->was_handed) && ws_deal_lane(pool) > 0 && worker->shy_ns == 0;
  return (is_served && here.queue->late_pauses == 0) || ws_find_near(pool, here);
}

/// Run tasks until none is found. Completions of consecutive tasks of one group are made together: the group
/// cannot be done before the last of them, so no thread waits longer for it. @return whether any task was run
static bool run_all(ws_frame_t *frame)
{
  struct ws_pool_s *pool = frame->pool;
  const ws_here_t here = frame->here;
  ws_worker_t *worker = here.worker;
  ws_task_t *task = &frame->task;
  bool ran = false;
  for (; next(pool, here, task); ran = true) {
    if (worker->searching) {
      ws_spin_found(worker);
      ws_search_found(worker);
    } else if (WS_UNLIKELY(!ran)) { // before its first search
      ws_state_enter(worker, WS_WORKER_BUSY, ws_os_now_ns());
    }
    if (task->group != worker->due.group)
      ws_complete_due(worker);
    worker->due.group = task->group;
    ws_root_enter(here.queue, task->group); // what the task pushes belongs to it
    ws_run(pool, here.queue, task);
    ws_root_end(here.queue);
    worker->due.tasks++;
    if (!task->group || !may_complete_later(pool, here))
      ws_complete_due(worker);
  }
  ws_complete_due(worker);
  return ran;
}

/// A task has ended, or tried to end, the worker's thread: the worker lives as long as its pool.
static void count_ended_by_task(ws_frame_t *frame)
{
  if (ws_add_relaxed(&frame->pool->ended_threads, 1) == 0) // relaxed: one of them warns
    ws_warn(&frame->pool->settings,
            "worker %u: a task ended its thread (pthread_exit, or cancelled); the worker continues",
            frame->here.worker->index);
  frame->here.worker->due.tasks++;
  ws_complete_due(frame->here.worker);
}

int32_t ws_worker_index(void)
{
  const ws_worker_t *worker = ws_self()->worker;
  return worker ? (int32_t)worker->index : -1;
}

static void loop(ws_frame_t *frame)
{
  ws_worker_t *worker = frame->here.worker;
  struct ws_pool_s *pool = frame->pool;
  for (;;) {
    const bool ran = run_all(frame);
    ws_note_idle(pool);
    if (ws_spin(worker, ran))
      continue;
    if (ws_load_acquire(&pool->state) == WS_STOPPED && !ws_work_visible(&pool->tasks)) // [edge STOP acquire]
      break;
    ws_park(worker);
    ws_hint_pass_on(worker);
  }
  ws_process_awake_sub(!worker->discounted);
}

void ws_worker_loop(ws_worker_t *worker)
{
  ws_frame_t frame = {.pool = worker->pool,
                      .here = {.queue = &worker->queue, .worker = worker},
                      .body = loop,
                      .thread_ended = count_ended_by_task,
                      .goes_on = true,
                      .stays = true};
  ws_survive(&frame);
}
