// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h. "Aside" is short for the aside deque of a kind.
#include "ws_dig.h"

static inline ws_deque_t *deque_of(const ws_queue_t *queue, ws_kind_t kind)
{
  return ws_queue_deque(queue, 2 * kind);
}

static inline ws_deque_t *aside_of(const ws_queue_t *queue, ws_kind_t kind)
{
  return ws_queue_deque(queue, 2 * kind + 1);
}

/// The tasks of a kind from index moved->from on lie elsewhere.
static void move_marks(const ws_queue_t *queue, ws_kind_t kind, const ws_moved_t *moved)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->index[kind] - moved->from) >= 0)
      mark->index[kind] += moved->by;
}

static bool make_room(ws_deque_t *deque, uint64_t tasks)
{
  while (!ws_deque_has_room(deque, tasks))
    if (!ws_deque_grow(deque))
      return false;
  return true;
}

/// Waits around this one may need the tasks that are unrelated to it.
static bool may_put_aside(const ws_queue_t *queue)
{
  return queue->of_worker && !queue->mark->outer;
}

static void note_aside(ws_tasks_t *tasks, ws_kind_t kind)
{
  if (kind == WS_KIND_NORMAL && !ws_load_relaxed(&tasks->aside_used)) // relaxed: set once, and stays
    ws_store_relaxed(&tasks->aside_used, 1); // relaxed: before the caller's fence [PARK_DEKKER]
}

bool ws_dig_lift(ws_queue_t *queue, ws_kind_t kind, const ws_group_t *group, bool weak, uint32_t depth_max,
                 ws_task_t *task)
{
  ws_deque_t *deque = deque_of(queue, kind);
  ws_moved_t moved;
  const bool found = ws_grouped_take_under(deque, deque, group, weak, depth_max, task, &moved);
  move_marks(queue, kind, &moved);
  return found;
}

/// Take a task of the group from under @p above others.
static bool take_under(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, uint64_t above,
                       const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_deque_t *aside = aside_of(queue, kind);
  if (!may_put_aside(queue) || !make_room(aside, above))
    return ws_dig_lift(queue, kind, group, weak, UINT32_MAX, task);
  ws_moved_t moved; // not used: the only mark becomes the end (ws_dig_under)
  note_aside(tasks, kind);
  return ws_grouped_take_under(deque_of(queue, kind), aside, group, weak, UINT32_MAX, task, &moved);
}

/// Take a task of the group from the aside deque. If a thief takes it first, others were hidden as
/// well.
static bool take_aside(const ws_queue_t *queue, ws_kind_t kind, const ws_group_t *group, bool weak,
                       ws_task_t *task, bool *hid)
{
  ws_deque_t *aside = aside_of(queue, kind);
  if (ws_deque_size(aside) == 0 || ws_grouped_depth(aside, group, weak) == 0)
    return false;
  *hid = true;
  return ws_grouped_take_turning(aside, group, weak, task);
}

/// Take a task of the group from under others, or from the aside deque.
static bool dig(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, const ws_group_t *group, bool weak,
                ws_task_t *task, bool *hid)
{
  const uint64_t depth = ws_grouped_depth(deque_of(queue, kind), group, weak);
  if (depth > 0 && depth <= ws_dig_depth_max(queue)) {
    *hid = true;
    if (take_under(tasks, queue, kind, depth - 1, group, weak, task))
      return true;
  }
  return take_aside(queue, kind, group, weak, task, hid);
}

bool ws_dig_under(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, const ws_group_t *group, bool weak,
                  ws_task_t *task, bool *hid)
{
  ws_deque_t *deque = deque_of(queue, kind);
  uint64_t *begin = &queue->mark->index[kind];
  bool found = (int64_t)(ws_dig_end(deque) - *begin) > 0 && ws_deque_take(deque, task);
  const bool digs = !found;
  if (digs)
    found = dig(tasks, queue, kind, group, weak, task, hid);
  if (digs || (int64_t)(ws_dig_end(deque) - *begin) < 0)
    *begin = ws_dig_end(deque); // no task there was pushed since the mark, and none must look so afterwards
  if (found)
    ws_kind_count_take(tasks, kind, task);
  return found;
}

/// Move older tasks that the wait must not run to the aside deque.
static bool turn_aside(ws_tasks_t *tasks, ws_queue_t *queue, ws_kind_t kind, const ws_allowed_t *allowed,
                       ws_task_t *task)
{
  ws_deque_t *aside = aside_of(queue, kind);
  for (uint32_t moved = 0; moved < WS_TURN_DEPTH_MAX && make_room(aside, 1); moved++) {
    const ws_took_t took = ws_grouped_take_oldest(deque_of(queue, kind), allowed, true, task);
    if (took != WS_TOOK_OTHER)
      return took == WS_TOOK_ALLOWED;
    note_aside(tasks, kind);
    ws_deque_push(aside, task, 1);
  }
  return false;
}

static bool take_turn(ws_tasks_t *tasks, ws_queue_t *queue, const ws_turn_t *turn,
                      const ws_allowed_t *allowed, ws_task_t *task)
{
  bool hid; // the caller always expects that
  if (turn->down && take_aside(queue, turn->kind, allowed->group, allowed->weak, task, &hid))
    return true;
  if (may_put_aside(queue) && allowed->func) // fibers yield: to lift them all each time would take long
    return turn_aside(tasks, queue, turn->kind, allowed, task);
  ws_moved_t moved;
  const bool found =
      ws_grouped_take_turn(deque_of(queue, turn->kind), allowed, turn->down, turn->depth_max, task, &moved);
  move_marks(queue, turn->kind, &moved);
  return found;
}

bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, const ws_turn_t *turn, ws_allowed_t allowed,
                 ws_task_t *task)
{
  allowed.from = queue->mark->index[turn->kind];
  const bool found = take_turn(tasks, queue, turn, &allowed, task);
  if (found)
    ws_kind_count_take(tasks, turn->kind, task);
  return found;
}
