// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "../pool/ws_group_word.h"
#include "../pool/ws_grouped.h"
#include "../pool/ws_queue.h"
#include "../sleep/ws_wake.h"
#include "ws_root.h"
#include "ws_run.h"

/// Move a task to the aside queue, where other workers find it. If there is no memory, run the task now.
static void put_aside(ws_worker_t *worker, const ws_task_t *task)
{
  if (!ws_aside_put(worker, task))
    ws_run_whole(worker->pool, &worker->queue, task);
}

/// Waits around this one may need the tasks that are unrelated to it.
static bool may_put_aside(ws_here_t here)
{
  return here.worker && !here.queue->mark->outer;
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
  if (ws_aside_size(worker) == 0 || ws_grouped_depth(&worker->aside, group, true) == 0)
    return false;
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
  if (buried && may_put_aside(here))
    found = dig_aside(here.worker, group, task);
  else if (buried)
    found = ws_queue_take_under(here.queue, group, weak, ws_dig_depth_max(here), task);
  if (!found && here.worker)
    found = find_aside(here.worker, group, task);
  ws_fill_place(pool, here); // moved tasks could not be seen for a moment: a worker may have gone to sleep
  return found;
}

/// A worker moves older tasks that it must not run to its aside queue.
static bool turn_aside(ws_worker_t *worker, const ws_allowed_t *allowed, ws_task_t *task)
{
  for (uint32_t moved = 0; moved < WS_TURN_DEPTH_MAX; moved++) {
    const ws_took_t took = ws_queue_take_oldest_for(&worker->queue, allowed, true, task);
    if (took == WS_TOOK_ALLOWED)
      return true;
    if (took == WS_TOOK_NONE)
      break;
    put_aside(worker, task);
  }
  return false;
}

bool ws_dig_turn(struct ws_pool_s *pool, ws_here_t here, ws_allowed_t allowed, const ws_turn_t *turn,
                 ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  bool found;
  allowed.from = own->mark->index;
  if (turn->kind != WS_KIND_NONE)
    found = ws_kind_take_turn(pool, own, turn->kind, allowed, turn->down, turn->depth_max, task);
  else if (here.worker && turn->down && find_aside(here.worker, allowed.group, task))
    found = true;
  else if (may_put_aside(here) && allowed.func) // fibers yield: to lift them all each time would take long
    found = turn_aside(here.worker, &allowed, task);
  else
    found = ws_queue_take_turn(own, &allowed, turn->down, turn->depth_max, task);
  if (found && allowed.func && task->func == allowed.func && !ws_group_is(task->group, allowed.group, true))
    ws_root_mix(own, task->group); // the fiber may be unrelated: what it pushes is not below the root
  ws_fill_place(pool, here); // moved tasks could not be seen for a moment: a worker may have gone to sleep
  return found;
}
