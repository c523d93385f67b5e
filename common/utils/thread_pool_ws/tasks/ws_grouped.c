// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_grouped.c
/// ws_grouped.h.
#include "ws_grouped.h"

#include "ws_group_word.h"

static bool take_newest(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task)
{
  return ws_deque_peek(deque, task) && ws_group_is(task->group, group, weak) && ws_deque_take(deque, task);
}

bool ws_grouped_take(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  uint64_t index;
  if (take_newest(deque, group, weak, task))
    return true;
  while (ws_deque_steal_peek(deque, &memo, task, &index) && ws_group_is(task->group, group, weak))
    if (ws_deque_steal_commit(deque, index))
      return true;
  return false;
}

uint64_t ws_grouped_depth(const ws_deque_t *deque, const ws_group_t *group, bool weak)
{
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  const uint64_t bottom = ws_own_load(&deque->bottom), size = ws_deque_size(deque);
  for (uint64_t i = 1; i <= size; i++)
    if (ws_group_is(ws_own_load(&ring->cell[(bottom - i) & ring->mask].group), group, weak))
      return i;
  return 0;
}

static void read_cell(const ws_ring_t *ring, uint64_t index, ws_task_t *task)
{
  ws_cell_read(&ring->cell[index & ring->mask], task);
}

/// Put the @p count tasks that were taken from index @p first on back in their order, but those for which
/// @p takes returns true. Their cells still hold them, for nothing was pushed since. They come to lie one
/// index lower, the same, or one higher: so each is read before the one below it is written.
/// @param takes  NULL = all go back. @return how many did not
static uint64_t put_back(ws_deque_t *deque, uint64_t first, uint64_t count, ws_takes_t *takes, void *arg)
{
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  ws_task_t lifted, next;
  uint64_t taken = 0;
  read_cell(ring, first, &next);
  for (uint64_t i = 1; i <= count; i++) {
    lifted = next;
    read_cell(ring, first + i, &next);
    if (takes && takes(&lifted, arg))
      taken++;
    else
      ws_deque_push(deque, &lifted, 1); // there is room: it lay here before
  }
  return taken;
}

uint64_t ws_grouped_sift(ws_deque_t *deque, ws_takes_t *takes, void *arg)
{
  ws_task_t lifted;
  uint64_t count = 0;
  const uint64_t before = ws_own_load(&deque->bottom);
  while (ws_deque_take(deque, &lifted))
    count++;
  return put_back(deque, before - count, count, takes, arg);
}

/// @param takes  of the tasks above it, as in put_back()
static bool take_below(ws_deque_t *deque, uint64_t from, const ws_group_t *group, bool weak,
                       uint64_t depth_max, ws_task_t *task, ws_moved_t *moved, ws_takes_t *takes, void *arg)
{
  uint64_t lifted = 0;
  bool found = false;
  const uint64_t before = ws_own_load(&deque->bottom);
  while (!found && lifted < depth_max && ws_deque_take(deque, task)) {
    const uint64_t index = before - 1 - lifted;
    found = (int64_t)(index - from) < 0 && (!group || ws_group_is(task->group, group, weak));
    lifted += !found;
  }
  moved->from = before - lifted;
  put_back(deque, moved->from, lifted, takes, arg);
  moved->by = ws_own_load(&deque->bottom) - before;
  return found;
}

bool ws_grouped_take_under(ws_deque_t *deque, const ws_group_t *group, bool weak, ws_task_t *task,
                           ws_moved_t *moved, ws_takes_t *takes, void *arg)
{
  return take_below(deque, ws_own_load(&deque->bottom), group, weak, UINT64_MAX, task, moved, takes, arg);
}

static bool is_allowed(const ws_allowed_t *allowed, const ws_task_t *task, uint64_t index)
{
  return (int64_t)(index - allowed->from) >= 0 || ws_group_is(task->group, allowed->group, allowed->weak)
         || (allowed->func && task->func == allowed->func);
}

ws_took_t ws_grouped_take_oldest(ws_deque_t *deque, const ws_allowed_t *allowed, bool others, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  uint64_t index;
  while (ws_deque_size(deque) > 0 && ws_deque_steal_peek(deque, &memo, task, &index)) {
    const ws_took_t took = is_allowed(allowed, task, index) ? WS_TOOK_ALLOWED : WS_TOOK_OTHER;
    if ((took == WS_TOOK_OTHER && !others) || ws_deque_steal_commit(deque, index))
      return took;
  }
  return WS_TOOK_NONE;
}

bool ws_grouped_take_turn(ws_deque_t *deque, const ws_allowed_t *allowed, bool down, uint32_t depth_max,
                          ws_task_t *task, ws_moved_t *moved)
{
  *moved = (ws_moved_t){.from = ws_own_load(&deque->bottom)};
  if (ws_grouped_take_oldest(deque, allowed, false, task) == WS_TOOK_ALLOWED)
    return true;
  if (down && allowed->group)
    return take_below(deque, allowed->from, allowed->group, allowed->weak, depth_max, task, moved, NULL,
                      NULL);
  return !down && (int64_t)(moved->from - allowed->from) > 0
         && take_below(deque, allowed->from + 1, NULL, false, depth_max, task, moved, NULL, NULL);
}

bool ws_grouped_steal_under(ws_deque_t *deque, const ws_aptr_t *root, const ws_group_t *group, bool weak,
                            ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  uint64_t index;
  // The task lay there while the root was this group, if the root is read after the task and the CAS finds
  // it still there: to change its root the owner must empty its deques, which moves top on.
  while (ws_deque_steal_peek(deque, &memo, task, &index)) {
    // [edge ROOT acquire] not older than the task
    if (!ws_group_is(ws_load_acquire(root), group, weak))
      return false;
    if (ws_deque_steal_commit(deque, index))
      return true;
  }
  return false;
}
