// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find_wait.c
/// ws_find.h: which tasks of its own queue a thread that waits may run.
#include "../pool/ws_nodes.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_dig.h"
#include "ws_find.h"
#include "ws_root.h"
#include "ws_round.h"

/// Turns of a wait at one of its queues, of which two go as deep as they must.
#define DEEP_EVERY 16u

/// The newest task and the oldest are not of the group: look under them.
WS_SELDOM static bool find_under(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind,
                                 const ws_group_t *group, ws_task_t *task)
{
  bool hid = false;
  const bool found = ws_dig_under(&pool->tasks, here.queue, kind, group, ws_takes_weak(here), task, &hid);
  if (hid)
    ws_fill_place(pool, here); // a worker may have gone to sleep meanwhile
  return found;
}

/// Take a task that the wait may run from the caller's own queue.
static inline bool find_own_of(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind,
                               const ws_group_t *group, ws_task_t *task)
{
  return ws_dig_top(&pool->tasks, here.queue, kind, group, ws_takes_weak(here), task)
         || find_under(pool, here, kind, group, task);
}

/// As find_own_of(): high priority, normal, nodes from near to far, low priority.
WS_SELDOM static bool find_own_by_kind(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group,
                                       ws_task_t *task)
{
  if (find_own_of(pool, here, WS_KIND_HIGH, group, task)
      || find_own_of(pool, here, WS_KIND_NORMAL, group, task))
    return true;
  const uint8_t *nodes = ws_nodes_here(&pool->nodes);
  for (uint32_t i = 0; nodes && i < pool->nodes.count; i++)
    if (find_own_of(pool, here, WS_KIND_NODE + nodes[i], group, task))
      return true;
  return find_own_of(pool, here, WS_KIND_LOW, group, task);
}

bool ws_find_turn(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  void (*const yielded)(void *arg) = own->oldest & WS_OLDEST_NEXT ? own->yielded : NULL;
  ws_forget_yield(own);
  ws_round_begin(own);
  const uint32_t kinds = ws_queue_more(own) ? pool->tasks.kinds : 1;
  const uint32_t round = own->turns++, visit = round / kinds; // of each kind
  const ws_turn_t turn = {.kind = (round + 1) % kinds,
                          .down = visit % 2 == 0,
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
  if (WS_UNLIKELY(ws_queue_more(here.queue) != NULL))
    return find_own_by_kind(pool, here, group, task);
  return find_own_of(pool, here, WS_KIND_NORMAL, group, task);
}
