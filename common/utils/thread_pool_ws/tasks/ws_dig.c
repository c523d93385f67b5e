// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "ws_shared.h"

/// The tasks from index moved->from on lie elsewhere.
static void move_marks(const ws_queue_t *queue, const ws_moved_t *moved)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->index - moved->from) >= 0)
      mark->index += moved->by;
}

/// Waits around this one may need the tasks that are unrelated to it.
static bool may_move_out(const ws_queue_t *queue)
{
  return queue->of_worker && !queue->mark->outer;
}

/// From a queue to the overflow queue.
typedef struct {
  ws_tasks_t *tasks;
  const ws_queue_t *from;
} way_t;

/// @return whether there was room
static bool move_out(const ws_task_t *task, void *way_arg)
{
  const way_t *way = way_arg;
  const bool has_room = ws_shared_begin(way->tasks, WS_KIND_NORMAL, way->tasks->grows);
  if (has_room)
    ws_shared_link(way->tasks, WS_KIND_NORMAL, task, way->from, true);
  return has_room;
}

/// Those above go back in their order, and the marks of the owner's waits move along.
static bool lift(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_moved_t moved;
  const bool found = ws_grouped_take_under(&queue->deque, group, weak, task, &moved, NULL, NULL);
  move_marks(queue, &moved);
  return found;
}

/// Take a task of the group from under others.
static bool dig(ws_tasks_t *tasks, ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task,
                bool *hid)
{
  const uint64_t depth = ws_grouped_depth(&queue->deque, group, weak);
  if (depth == 0 || depth > ws_dig_depth_max(queue))
    return false;
  *hid = true;
  if (!may_move_out(queue))
    return lift(queue, group, weak, task);
  ws_moved_t moved; // not used: the only mark becomes the end (ws_dig_under)
  way_t way = {.tasks = tasks, .from = queue};
  return ws_grouped_take_under(&queue->deque, group, weak, task, &moved, move_out, &way);
}

bool ws_dig_under(ws_tasks_t *tasks, ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task,
                  bool *hid)
{
  ws_deque_t *deque = &queue->deque;
  uint64_t *begin = &queue->mark->index;
  bool found = (int64_t)(ws_dig_end(deque) - *begin) > 0 && ws_deque_take(deque, task);
  const bool digs = !found;
  if (digs)
    found = dig(tasks, queue, group, weak, task, hid);
  if (digs || (int64_t)(ws_dig_end(deque) - *begin) < 0)
    *begin = ws_dig_end(deque); // no task there was pushed since the mark, and none must look so afterwards
  return found;
}

/// Move older tasks that the wait must not run out of its way.
static bool turn_out(ws_tasks_t *tasks, ws_queue_t *queue, const ws_allowed_t *allowed, ws_task_t *task)
{
  for (uint32_t moved = 0; moved < WS_TURN_DEPTH_MAX; moved++) {
    const bool has_room = ws_shared_begin(tasks, WS_KIND_NORMAL, tasks->grows);
    const ws_took_t took = ws_grouped_take_oldest(&queue->deque, allowed, has_room, task);
    if (has_room && took == WS_TOOK_OTHER) {
      ws_shared_link(tasks, WS_KIND_NORMAL, task, queue, true);
      continue;
    }
    if (has_room)
      ws_shared_abandon(tasks, WS_KIND_NORMAL);
    return took == WS_TOOK_ALLOWED;
  }
  return false;
}

bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, const ws_turn_t *turn, ws_allowed_t allowed,
                 ws_task_t *task)
{
  allowed.from = queue->mark->index;
  if (may_move_out(queue) && allowed.func) // fibers yield: to lift them all each time would take long
    return turn_out(tasks, queue, &allowed, task);
  ws_moved_t moved;
  const bool found = ws_grouped_take_turn(&queue->deque, &allowed, turn->down, turn->depth_max, task, &moved);
  move_marks(queue, &moved);
  return found;
}
