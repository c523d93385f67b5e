// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_worker.c
/// Life of a task, step 5: the worker's loop. Before: ws_next.h; after: ws_run.h.
///
///   RUNNING --no task--> SEARCHING --may not spin on--> PARKED (ws_idle.c)
///      ^                  |     ^                         |
///      |__ task found ____|     |__ claimed, or timer ____|
#include "../tasks/ws_shared.h"
#include "ws_run.h"

#include "../pool/ws_process.h"
#include "../sleep/ws_idle.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "../trace/ws_traced.h"
#include "ws_escape.h"
#include "ws_next.h"

/// Take the task that was handed to the worker, or search, once. @return false = none was found
static bool find_once(ws_search_t *search, ws_task_t *task)
{
  const ws_here_t here = search->here;
  here.worker->was_handed = false;
  if (WS_UNLIKELY(ws_own_load(&here.worker->inbox.gone))) // another thread may have filled it
    ws_inbox_look(&here.worker->inbox);
  if (WS_LIKELY(!ws_inbox_is(&here.worker->inbox, WS_INBOX_KEPT)))
    return ws_next(search, WS_NEXT_ANY, task);
  here.worker->was_handed = true;
  ws_inbox_empty(&here.worker->inbox, task);
  ws_traced_steal(search->pool, here, WS_VICTIM_INBOX);
  return true;
}

/// @return whether the completion of the last task can wait until the next one is found: a search will
///         probably find one at once, or comes to a dispatcher (which completes what is due before it waits
///         long), and does not come to a lock
static inline bool may_complete_later(struct ws_pool_s *pool, ws_here_t here)
{
  const ws_queue_t *own = here.queue;
  if (WS_UNLIKELY(ws_shared_count(&pool->tasks) > 0))
    return false;
  if (ws_deque_size(&own->deque) > 0)
    return true;
  // a worker dispatches, or did until its last task
  const bool serves = WS_UNLIKELY(here.worker->was_handed) && ws_hint_load(&pool->tasks.dispatching) > 0;
  // a thief that waits first does not come back at once
  return !ws_thief_waits(own) && (serves || ws_thief_is_sure(&pool->tasks, own));
}

/// Find the next task. If a search finds none while completions are due, it may be because of them
/// (ws_steal.c): they are made, and the worker searches once more. If it finds none again, threads that wait
/// for the pool are woken.
static inline bool find_task(ws_search_t *search, ws_task_t *task)
{
  ws_worker_t *worker = search->here.worker;
  if (WS_LIKELY(find_once(search, task)))
    return true;
  if (worker->due.tasks > 0) {
    ws_complete_due(worker);
    if (find_once(search, task))
      return true;
  }
  ws_note_idle(search->pool);
  return false;
}

/// Run @p task, and others until none is found. Completions of consecutive tasks of one group are made
/// together: the group cannot be done before the last of them, so no thread waits longer for it.
static void run_all(ws_search_t *search, ws_task_t *task)
{
  const ws_here_t here = search->here;
  ws_worker_t *worker = here.worker;
  do {
    if (task->group != worker->due.group)
      ws_complete_due(worker);
    worker->due.group = task->group;
    ws_root_enter(here.queue, task->group); // what the task pushes belongs to it
    ws_run(search->pool, here.queue, task);
    ws_root_end(here.queue);
    worker->due.tasks++;
    if (!task->group || !may_complete_later(search->pool, here))
      ws_complete_due(worker);
  } while (find_task(search, task));
}

/// The worker is idle until it finds a task. @param ran  it has run tasks; else its thread has just begun
/// @return false = the pool has stopped, and the worker ends
static bool await_task(ws_search_t *search, bool ran, ws_task_t *task)
{
  ws_worker_t *worker = search->here.worker;
  struct ws_pool_s *pool = search->pool;
  ws_idle_t idle = ws_idle_begin(worker, ran);
  if (!ran && find_task(search, task)) {
    ws_state_enter(worker, WS_WORKER_BUSY, idle.now_ns);
    return true;
  }
  for (;; ws_idle_go_on(&idle)) {
    if (!ws_spin(worker, &idle)) {
      // [edge STOP acquire]
      if (ws_load_acquire(&pool->state) == WS_STOPPED && !ws_work_visible(&pool->tasks)) {
        ws_hint_add(&ws_process.awake, 0u - idle.counted);
        return false;
      }
      ws_park(worker, &idle);
    }
    search->idle = &idle;
    if (find_task(search, task)) {
      ws_idle_end(worker, &search->idle);
      return true;
    }
  }
}

int32_t ws_worker_index(void)
{
  const ws_worker_t *worker = ws_self()->worker;
  return worker ? (int32_t)worker->index : -1;
}

int32_t ws_pool_worker_index(const ws_pool_t *pool)
{
  const ws_worker_t *worker = ws_self()->worker;
  return worker && worker->pool == pool ? (int32_t)worker->index : -1;
}

uint32_t ws_pool_size(const ws_pool_t *pool)
{
  return pool ? pool->workers : 0;
}

void ws_worker_loop(ws_worker_t *worker)
{
  WS_NOTHING_ESCAPES();
  ws_cancel_disable();
  const ws_here_t here = {.queue = &worker->queue, .worker = worker};
  ws_search_t search = {.pool = worker->pool, .here = here, .filter = WS_NEXT_ANY};
  ws_task_t task;
  for (bool ran = false; await_task(&search, ran, &task); ran = true)
    run_all(&search, &task);
}
