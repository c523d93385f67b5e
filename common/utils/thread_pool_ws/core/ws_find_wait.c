// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find_wait.c
/// ws_find.h: which tasks of its own queue a thread that waits may run.
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "ws_find.h"
#include "ws_root.h"
#include "ws_round.h"

/// Turns of a wait at its queue, of which two go as deep as they must.
#define DEEP_EVERY 16u

bool ws_find_turn(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  void (*const yielded)(void *arg) = own->oldest & WS_OLDEST_NEXT ? own->yielded : NULL;
  ws_forget_yield(own);
  ws_round_begin(own);
  const uint32_t visit = own->turns++;
  const ws_turn_t turn = {.down = visit % 2 == 0,
                          .depth_max = visit % DEEP_EVERY < 2 ? ws_dig_depth_max(own) : WS_TURN_DEPTH_MAX};
  const ws_allowed_t allowed = {.group = group, .weak = ws_takes_weak(here), .func = yielded};
  const bool found = ws_dig_turn(&pool->tasks, own, &turn, allowed, task);
  if (found && yielded && task->func == yielded && !ws_group_is(task->group, group, true))
    ws_root_mix(own, task->group); // the fiber may be unrelated: what it pushes is not below the root
  ws_fill_place(pool, here); // other tasks could not be seen for a moment: a worker may have gone to sleep
  return found;
}

bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const bool weak = ws_takes_weak(here);
  if (ws_dig_top(here.queue, group, weak, task))
    return true;
  bool hid = false; // other tasks, for a moment
  const bool found = ws_dig_under(&pool->tasks, here.queue, group, weak, task, &hid);
  if (hid)
    ws_fill_place(pool, here); // a worker may have gone to sleep meanwhile
  return found;
}
