// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_worker.c
/// Life of a task, step 5: the worker's loop. Before: ws_find.c; after: ws_group.c (complete and join).
///
///   RUN --no task--> SPIN --budget spent--> PARKED (ws_park.c)
///    ^                 |                       |
///    |___ task found __|____ claimed __________|
#include "ws_worker.h"

#include "ws_find.h"
#include "ws_park.h"
#include "ws_process.h"
#include "ws_run.h"

/// A gap between two turns of a spin that is longer than this means that somebody else had the CPU.
#define PREEMPTED_NS 20000u

/// Pauses between two looks of a spin.
#define REST_TURNS 4u

/// Consecutive tasks of one group that have run, and are not completed yet.
typedef struct {
  ws_group_t *group;
  uint32_t tasks;
} finished_t;

static void complete(ws_queue_t *queue, finished_t *finished)
{
  if (finished->tasks == 0)
    return;
  if (finished->group)
    ws_group_complete(finished->group, finished->tasks);
  ws_count_run(queue, finished->tasks);
  finished->tasks = 0;
}

/// Run until nothing is found. Completions of consecutive tasks of one group are made together: the group
/// cannot be done before the last of them, so nobody waits longer for it.
static void run_all(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const ws_here_t here = {.queue = &worker->queue, .worker = worker};
  ws_task_t task;
  bool stolen;
  finished_t finished = {0};
  while (ws_find(pool, here, &task, &stolen)) {
    ws_search_found(worker);
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
}

/// Look for work for a bounded time. @return whether there is some
static bool spin(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const bool hot = pool->settings.spin == WS_SPIN_HOT;
  if (pool->settings.spin == WS_SPIN_OFF || !ws_may_spin(pool))
    return false;
  if (ws_producer_on_cpu(pool, ws_os_cpu())) // a spin here would keep it off
    return false;
  ws_search_begin(worker);
  ws_count(&worker->queue.count.spins, 1);
  const uint64_t start_ns = ws_os_now_ns();
  uint64_t now_ns = start_ns;
  bool found = false;
  while (!found && ws_may_spin(pool)) {
    const uint64_t before_ns = now_ns;
    // Looking without a rest takes the queue's lines from the thread that is filling it: with tiny tasks a
    // push then costs six times as much. This rest is the price, about 0.1 us of a start.
    for (uint32_t turn = 0; turn < REST_TURNS; turn++)
      ws_pause();
    found = ws_work_visible(pool);
    now_ns = ws_os_now_ns();
    const bool preempted = now_ns - before_ns > PREEMPTED_NS;
    if (!hot && (preempted || now_ns - start_ns > pool->settings.spin_ns_max))
      break;
  }
  ws_count(&worker->queue.count.spin_ns, now_ns - start_ns);
  return found;
}

void ws_worker_loop(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  for (;;) {
    run_all(worker);
    ws_note_idle(pool);
    if (spin(worker))
      continue;
    if (ws_load_acquire(&pool->state) == WS_STOPPED && !ws_work_visible(pool)) // [edge STOP acquire]
      break;
    ws_park(worker);
  }
  ws_process_awake_sub(1);
}
