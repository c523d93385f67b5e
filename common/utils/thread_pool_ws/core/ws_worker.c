// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_worker.c
/// Life of a task, step 5: the worker's loop. Before: ws_find.c; after: ws_group.c (complete and join).
///
///   RUN --no task--> SPIN (ws_spin.c) --window over--> PARKED (ws_park.c)
///    ^                 |                       |
///    |___ task found __|____ claimed __________|
#include "ws_worker.h"

#include "ws_find.h"
#include "ws_group_word.h"
#include "ws_hint.h"
#include "ws_park.h"
#include "ws_process.h"
#include "ws_run.h"
#include "ws_spin.h"

/// Consecutive tasks of one group that have run, and are not completed yet.
typedef struct {
  ws_group_t *group;
  uint32_t tasks;
} finished_t;

static void complete(ws_queue_t *queue, finished_t *finished)
{
  if (finished->tasks == 0)
    return;
  if (ws_group_counts(finished->group))
    ws_group_complete(finished->group, finished->tasks);
  ws_count_run(queue, finished->tasks);
  finished->tasks = 0;
}

/// Run until nothing is found. Completions of consecutive tasks of one group are made together: the group
/// cannot be done before the last of them, so nobody waits longer for it. @return whether anything was
static bool run_all(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const ws_here_t here = {.queue = &worker->queue, .worker = worker};
  ws_task_t task;
  finished_t finished = {0};
  bool ran = false;
  for (; ws_find(pool, here, &task); ran = true) {
    if (worker->searching) {
      ws_spin_found(worker);
      ws_search_found(worker);
    }
    if (task.group != finished.group)
      complete(here.queue, &finished);
    ws_root_enter(here.queue, task.group); // what the task pushes belongs to it
    ws_run(pool, here.queue, &task);
    ws_root_end(here.queue);
    finished.group = task.group;
    finished.tasks++;
    if (!task.group || !ws_find_near(pool, here))
      complete(here.queue, &finished);
  }
  complete(here.queue, &finished);
  return ran;
}

int32_t ws_worker_index(void)
{
  const ws_worker_t *worker = ws_self()->worker;
  return worker ? (int32_t)worker->index : -1;
}

void ws_worker_loop(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  for (;;) {
    const bool ran = run_all(worker);
    ws_note_idle(pool);
    if (ws_spin(worker, ran))
      continue;
    if (ws_load_acquire(&pool->state) == WS_STOPPED && !ws_work_visible(pool)) // [edge STOP acquire]
      break;
    ws_park(worker);
    ws_hint_pass_on(worker);
  }
  ws_process_awake_sub(1);
}
