// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_complete.c
/// ws_complete.h.
#include "ws_complete.h"

#include "../base/ws_tsan.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_group_word.h"
#include "../tasks/ws_pile.h"
#include "ws_run.h"

static void complete(ws_worker_t *worker, ws_group_t *group, uint32_t tasks)
{
  ws_group_complete(group, tasks);
  ws_count_run(&worker->queue, tasks);
}

static void collect(ws_worker_t *worker, ws_group_t *group, uint32_t tasks)
{
  struct ws_pool_s *pool = worker->pool;
  ws_circle_t *circle = &pool->tasks.circle[ws_near_circle(worker)];
  ws_tsan_release(group);
  if (ws_pile_add(circle, group, tasks)) {
    ws_fence_seq_cst_after_rmw(); // [edge GUARD_DEKKER fence] the completions before the guard
    ws_need_guard(pool); // the collector may have no CPU
    return;
  }
  const bool collects = ws_pile_open(circle, group);
  complete(worker, group, tasks);
  const uint32_t more = collects ? ws_pile_close(circle) : 0;
  if (more > 0)
    complete(worker, group, more);
}

/// Fibers go on where their group is completed: that must not be the guard.
static bool may_collect(const struct ws_pool_s *pool)
{
  return pool->tasks.piles > 0 && pool->guarded && !ws_process_hooks();
}

void ws_complete_due(ws_worker_t *worker)
{
  const uint32_t tasks = worker->due.tasks;
  if (tasks == 0)
    return;
  worker->due.tasks = 0;
  if (!ws_group_counts(worker->due.group))
    ws_count_run(&worker->queue, tasks);
  else if (WS_UNLIKELY(worker->due.handed) && may_collect(worker->pool))
    collect(worker, worker->due.group, tasks);
  else
    complete(worker, worker->due.group, tasks);
}
