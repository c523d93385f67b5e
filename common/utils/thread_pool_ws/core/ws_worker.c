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
#include "../tasks/ws_group_word.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_places.h"
#include "../trace/ws_traced.h"
#include "ws_find.h"
#include "ws_root.h"
#include "ws_survive.h"

/// A worker's thread at work.
typedef struct {
  ws_frame_t frame; ///< first: the frame is the work
  ws_group_t *group; ///< of the tasks below
  uint32_t tasks; ///< consecutive ones of one group that have run, and are not completed yet
} work_t;

static void complete(work_t *work)
{
  if (work->tasks == 0)
    return;
  if (ws_group_counts(work->group))
    ws_group_complete(work->group, work->tasks);
  ws_count_run(work->frame.here.queue, work->tasks);
  work->tasks = 0;
}

/// Take the task that was handed to the worker, or find one.
static bool next(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  if (WS_LIKELY(!here.worker->handed))
    return ws_find(pool, here, task);
  here.worker->handed = false;
  ws_inbox_empty(&here.worker->inbox, task);
  ws_traced_steal(pool, here, WS_VICTIM_INBOX);
  ws_count(&here.queue->count.stolen, 1);
  return true;
}

/// Run tasks until none is found. Completions of consecutive tasks of one group are made together: the group
/// cannot be done before the last of them, so no thread waits longer for it. @return whether any task was run
static bool run_all(work_t *work)
{
  struct ws_pool_s *pool = work->frame.pool;
  const ws_here_t here = work->frame.here;
  ws_task_t *task = &work->frame.task;
  bool ran = false;
  for (; next(pool, here, task); ran = true) {
    if (here.worker->searching) {
      ws_spin_found(here.worker);
      ws_search_found(here.worker);
    } else if (WS_UNLIKELY(!ran)) { // before its first search
      ws_state_enter(here.worker, WS_WORKER_BUSY, ws_os_now_ns());
    }
    if (task->group != work->group)
      complete(work);
    work->group = task->group;
    ws_root_enter(here.queue, task->group); // what the task pushes belongs to it
    ws_run(pool, here.queue, task);
    ws_root_end(here.queue);
    work->tasks++;
    if (!task->group || !ws_find_near(pool, here))
      complete(work);
  }
  complete(work);
  return ran;
}

/// A task has ended, or tried to end, the worker's thread: the worker lives as long as its pool.
static void count_ended_by_task(ws_frame_t *frame)
{
  work_t *work = (work_t *)frame;
  if (ws_add_relaxed(&frame->pool->ended_threads, 1) == 0) // relaxed: one of them warns
    ws_warn(&frame->pool->settings,
            "worker %u: a task ended its thread (pthread_exit, or cancelled); the worker continues",
            frame->here.worker->index);
  work->tasks++;
  complete(work);
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
    const bool ran = run_all((work_t *)frame);
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
  work_t work = {.frame = {.pool = worker->pool,
                           .here = {.queue = &worker->queue, .worker = worker},
                           .body = loop,
                           .thread_ended = count_ended_by_task,
                           .goes_on = true,
                           .stays = true}};
  ws_survive(&work.frame);
}
