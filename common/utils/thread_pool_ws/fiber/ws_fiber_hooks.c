// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_hooks.c
/// ws_fiber_hooks.h: waits for groups and events in a fiber; the stop of a pool.
#include "ws_fiber_hooks.h"

#include "../pool/ws_process.h"
#include "../tasks/ws_group_word.h"
#include "ws_fiber_process.h"
#include "ws_fiber_run.h"
#include "ws_lot_park.h"
#include "ws_resume.h"

static bool is_open(void *group)
{
  return ws_group_announce(group);
}

static bool wait_for(ws_group_t *group, const ws_event_t *event)
{
  if (!ws_fiber_here())
    return false;
  // not ended by a cancel: the group may lie on this stack
  while (group && !ws_group_done(group))
    ws_lot_park(ws_lot_brief(group), is_open, group, UINT64_MAX, false);
  while (event && !event->ready(event->arg))
    event->sleep(event->arg);
  return true;
}

static bool is_in_fiber(void)
{
  return ws_fiber_here() != NULL;
}

static void completed(const void *group)
{
  ws_lot_unpark(ws_lot_brief(group), UINT32_MAX, NULL, NULL);
}

static bool aborts(const ws_task_t *task, ws_task_t *instead)
{
  if (task->func != ws_fiber_run)
    return false;
  *instead = *task;
  instead->func = ws_fiber_run_aborted;
  return true;
}

static void aborted(struct ws_pool_s *pool)
{
  ws_lot_abort(pool);
}

static void idle(struct ws_pool_s *pool)
{
  ws_resume_drain(pool);
}

void ws_fiber_hook(void)
{
  static const ws_hooks_t hooks = {wait_for, is_in_fiber, completed, aborts, aborted, idle};
  ws_process_hook(&hooks);
}
