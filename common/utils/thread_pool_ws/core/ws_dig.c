// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "../pool/ws_group_word.h"
#include "../pool/ws_queue.h"
#include "../sleep/ws_wake.h"
#include "ws_run.h"

/// How deep a thread outside digs in its own queue before it gives up.
#define DIG_DEPTH_MAX 1024u

/// Move a task to the aside queue, where other workers find it. If there is no memory, run the task now.
static void put_aside(ws_worker_t *worker, const ws_task_t *task)
{
  if (!ws_aside_put(worker, task))
    ws_run_whole(worker->pool, &worker->queue, task);
}

/// A worker moves the tasks above to the aside queue, where they may stay for long.
static bool dig_aside(ws_worker_t *worker, const ws_group_t *group, ws_task_t *task)
{
  while (ws_queue_take(&worker->queue, task)) {
    if (ws_group_is(task->group, group, true))
      return true;
    put_aside(worker, task);
  }
  return false;
}

static bool find_aside(ws_worker_t *worker, const ws_group_t *group, ws_task_t *task)
{
  for (uint64_t i = ws_aside_size(worker); i > 0 && ws_aside_steal(worker, task); i--) {
    if (ws_group_is(task->group, group, true))
      return true;
    put_aside(worker, task);
  }
  return false;
}

bool ws_dig(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const bool weak = ws_takes_weak(here), buried = ws_queue_holds(here.queue, group, weak);
  if (!buried && (!here.worker || ws_aside_size(here.worker) == 0))
    return false;
  bool found = false;
  if (buried && here.worker)
    found = dig_aside(here.worker, group, task);
  else if (buried)
    found = ws_queue_take_under(here.queue, group, weak, DIG_DEPTH_MAX, task);
  if (!found && here.worker)
    found = find_aside(here.worker, group, task);
  ws_fill_place(pool, here); // moved tasks could not be seen for a moment: a worker may have gone to sleep
  return found;
}
