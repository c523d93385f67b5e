// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind_wait.c
/// ws_kind.h: what a wait takes from its thread's queues of kinds.
#include "ws_grouped.h"
#include "ws_kind.h"

void ws_kind_mark(const ws_queue_t *queue, ws_mark_t *mark)
{
  const ws_kind_queues_t *queues = ws_kind_queues(queue);
  for (ws_kind_t kind = 0; queues && kind < queues->count; kind++)
    // relaxed: only the owner writes it
    mark->kind_index[kind] = ws_load_relaxed(&queues->deque[kind].bottom);
}

/// The tasks of a kind from index moved->from on lie elsewhere.
static void move_marks(const ws_queue_t *queue, ws_kind_t kind, const ws_moved_t *moved)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->kind_index[kind] - moved->from) >= 0)
      mark->kind_index[kind] += moved->by;
}

/// The queue of a kind has become shorter: what is pushed there next lies above the marks.
static void lower_marks(const ws_queue_t *queue, ws_kind_t kind, uint64_t end)
{
  for (ws_mark_t *mark = queue->mark; mark; mark = mark->outer)
    if ((int64_t)(mark->kind_index[kind] - end) > 0)
      mark->kind_index[kind] = end;
}

static bool make_room(ws_deque_t *deque, uint64_t tasks)
{
  while (!ws_deque_has_room(deque, tasks))
    if (!ws_deque_grow(deque))
      return false;
  return true;
}

/// Take a task of the group from under @p above others. A worker moves them aside, if there is memory.
static bool take_under(ws_here_t here, ws_kind_t kind, uint64_t above, const ws_group_t *group, bool weak,
                       ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(here.queue);
  ws_deque_t *deque = &queues->deque[kind], *aside = ws_kind_aside(queues, kind);
  ws_moved_t moved;
  bool found;
  // not in a wait inside another one, which may need those tasks (ws_dig.h)
  if (here.worker && !here.queue->mark->outer && make_room(aside, above)) {
    found = ws_grouped_take_under(deque, aside, group, weak, UINT32_MAX, task, &moved);
    lower_marks(here.queue, kind, ws_load_relaxed(&deque->bottom)); // relaxed: only the owner writes it
  } else {
    found = ws_grouped_take_under(deque, deque, group, weak, UINT32_MAX, task, &moved);
    move_marks(here.queue, kind, &moved);
  }
  return found;
}

/// Take a task of the group from under others, or from those that were put aside.
static bool dig(ws_here_t here, ws_kind_t kind, const ws_group_t *group, bool weak, ws_task_t *task,
                bool *hid)
{
  ws_kind_queues_t *queues = ws_kind_queues(here.queue);
  ws_deque_t *deque = &queues->deque[kind], *aside = ws_kind_aside(queues, kind);
  if (ws_grouped_take(aside, group, weak, task))
    return true;
  const uint64_t depth = ws_grouped_depth(deque, group, weak);
  if (depth > 0 && (here.worker || depth <= WS_DIG_DEPTH_MAX)) {
    *hid = true;
    if (take_under(here, kind, depth - 1, group, weak, task))
      return true;
  }
  if (ws_grouped_depth(aside, group, weak) == 0)
    return false;
  *hid = true;
  return ws_grouped_take_turning(aside, group, weak, task);
}

bool ws_kind_take_of(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, const ws_group_t *group,
                     bool weak, ws_task_t *task, bool *hid)
{
  ws_deque_t *deque = &ws_kind_queues(here.queue)->deque[kind];
  uint64_t *begin = &here.queue->mark->kind_index[kind];
  bool found = ws_grouped_take(deque, group, weak, task);
  if (!found && (int64_t)(ws_load_relaxed(&deque->bottom) - *begin) > 0) // relaxed: only the owner writes it
    found = ws_deque_take(deque, task);
  if (!found)
    found = dig(here, kind, group, weak, task, hid);
  const uint64_t end = ws_load_relaxed(&deque->bottom); // relaxed: only the owner writes it
  if ((int64_t)(end - *begin) < 0)
    *begin = end;
  if (found)
    ws_kind_note_taken(pool, kind, task);
  return found;
}

bool ws_kind_take_turn(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, ws_allowed_t allowed,
                       bool down, uint32_t depth_max, ws_task_t *task)
{
  ws_kind_queues_t *queues = ws_kind_queues(queue);
  ws_moved_t moved;
  allowed.from = queue->mark->kind_index[kind];
  ws_deque_t *aside = ws_kind_aside(queues, kind);
  if (down && ws_grouped_depth(aside, allowed.group, allowed.weak) > 0
      && ws_grouped_take_turning(aside, allowed.group, allowed.weak, task)) {
    ws_kind_note_taken(pool, kind, task);
    return true;
  }
  const bool found = ws_grouped_take_turn(&queues->deque[kind], &allowed, down, depth_max, task, &moved);
  move_marks(queue, kind, &moved);
  if (found)
    ws_kind_note_taken(pool, kind, task);
  return found;
}
