// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "ws_shared.h"

/// How deep a thread that is no worker digs. A worker may be the only thread that can run the task.
#define LANE_DEPTH_MAX 1024u
/// Tasks that most turns reach under, or that a worker moves then.
#define TURN_DEPTH_MAX 64u
/// Of so many turns two go as deep as they must.
#define DEEP_EVERY 16u

static uint32_t depth_max(const ws_queue_t *queue)
{
  return queue->of_worker ? UINT32_MAX : LANE_DEPTH_MAX;
}

/// @return index of the next task that will be pushed
static uint64_t end_of(const ws_queue_t *queue)
{
  return ws_own_load(&queue->deque.bottom);
}

static bool is_of_group(const ws_wait_t *wait, const ws_task_t *task)
{
  return ws_group_is(task->group, wait->group, wait->weak);
}

static void read_cell(const ws_ring_t *ring, uint64_t index, ws_task_t *task)
{
  ws_cell_read(&ring->cell[index & ring->mask], task);
}

/// Put the @p count tasks that were taken from index @p first on back in their order, but those for which
/// @p takes returns true. Their cells still hold them, for nothing was pushed since. They come to lie one
/// index lower, the same, or one higher: so each is read before the one below it is written.
/// @param takes  NULL = all go back
static void put_back(ws_deque_t *deque, uint64_t first, uint64_t count, ws_takes_t *takes, void *arg)
{
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  ws_task_t lifted, next;
  read_cell(ring, first, &next);
  for (uint64_t i = 1; i <= count; i++) {
    lifted = next;
    read_cell(ring, first + i, &next);
    if (!takes || !takes(&lifted, arg))
      ws_deque_push(deque, &lifted, 1); // there is room: it lay here before
  }
}

void ws_dig_all(ws_queue_t *queue, ws_takes_t *takes, void *arg)
{
  ws_task_t lifted;
  uint64_t count = 0;
  const uint64_t before = end_of(queue);
  while (ws_deque_take(&queue->deque, &lifted))
    count++;
  put_back(&queue->deque, before - count, count, takes, arg);
}

/// Take the task at an index from under the newer ones, which go back; the bases of the thread's waits move
/// along. @param takes  of the newer ones, as in put_back(). @return false = thieves have taken it
static bool lift(ws_queue_t *queue, uint64_t index, ws_task_t *task, ws_takes_t *takes, void *arg)
{
  const uint64_t before = end_of(queue);
  uint64_t first = before; // of the lifted ones
  bool found;
  while ((found = ws_deque_take(&queue->deque, task)) && first - 1 != index)
    first--;
  put_back(&queue->deque, first, before - first, takes, arg);
  for (ws_wait_t *wait = queue->wait; wait; wait = wait->outer)
    if ((int64_t)(wait->base - first) >= 0)
      wait->base += end_of(queue) - before;
  return found;
}

/// Waits around this one may need the tasks that are unrelated to it.
static bool may_move_out(const ws_queue_t *queue)
{
  return queue->of_worker && !queue->wait->outer;
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
    ws_shared_end(way->tasks, WS_KIND_NORMAL, task, way->from, true);
  return has_room;
}

/// @param index  out: of the newest task of the group that lies below index @p below, not deeper than @p most
static bool has_of_group(const ws_queue_t *queue, uint64_t below, uint64_t most, uint64_t *index)
{
  const ws_ring_t *ring = ws_own_load(&queue->deque.ring);
  const uint64_t end = end_of(queue), size = ws_deque_size(&queue->deque);
  ws_task_t task;
  for (uint64_t depth = 1; depth <= size && depth <= most; depth++) {
    *index = end - depth;
    read_cell(ring, *index, &task);
    if ((int64_t)(*index - below) < 0 && is_of_group(queue->wait, &task))
      return true;
  }
  return false;
}

static bool wants_of_group(const ws_task_t *task, uint64_t index, void *wait)
{
  (void)index;
  return is_of_group(wait, task);
}

/// The newest task is not of the group.
WS_SELDOM static bool take_other(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task, bool *hid)
{
  ws_steal_memo_t memo = {0};
  way_t way = {.tasks = tasks, .from = queue};
  uint64_t index;
  const ws_steal_t oldest = ws_deque_steal_wanted(&queue->deque, &memo, wants_of_group, queue->wait, task);
  if (oldest == WS_STEAL_GOT
      || ((int64_t)(end_of(queue) - queue->wait->base) > 0 && ws_deque_take(&queue->deque, task)))
    return true;
  // If thieves were quicker each time, what they have left is looked for however deep it lies.
  const uint64_t most = oldest == WS_STEAL_LOST ? UINT64_MAX : depth_max(queue);
  const bool lies_under = has_of_group(queue, end_of(queue), most, &index);
  *hid |= lies_under;
  const bool found = lies_under && lift(queue, index, task, may_move_out(queue) ? move_out : NULL, &way);
  queue->wait->base = end_of(queue); // none that is left was pushed since the wait began
  return found;
}

bool ws_dig(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task, bool *hid)
{
  const bool is_newest = ws_deque_peek(&queue->deque, task) && is_of_group(queue->wait, task);
  const bool found = (is_newest && ws_deque_take(&queue->deque, task)) || take_other(tasks, queue, task, hid);
  if ((int64_t)(end_of(queue) - queue->wait->base) < 0)
    queue->wait->base = end_of(queue); // what is pushed next was pushed since the wait began
  return found;
}

/// What a wait takes of the oldest tasks, at the end of a round.
typedef struct {
  const ws_wait_t *wait;
  void (*yielded)(void *arg);
  bool others; ///< take it also if the wait must not run it
  bool allowed; ///< out: the wait may run it
} look_t;

static bool wants_in_turn(const ws_task_t *task, uint64_t index, void *look_arg)
{
  look_t *look = look_arg;
  look->allowed = (int64_t)(index - look->wait->base) >= 0 || is_of_group(look->wait, task)
                  || (look->yielded && task->func == look->yielded);
  return look->allowed || look->others;
}

/// If thieves are quicker each time, it is the next turn's.
static bool take_oldest(ws_queue_t *queue, look_t *look, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  return ws_deque_size(&queue->deque) > 0
         && ws_deque_steal_wanted(&queue->deque, &memo, wants_in_turn, look, task) == WS_STEAL_GOT;
}

/// Move older tasks that the wait must not run out of its way.
static bool turn_out(ws_tasks_t *tasks, ws_queue_t *queue, look_t *look, ws_task_t *task)
{
  for (uint32_t moved = 0; moved < TURN_DEPTH_MAX; moved++) {
    look->others = ws_shared_begin(tasks, WS_KIND_NORMAL, tasks->grows); // there is room for it
    const bool took = take_oldest(queue, look, task);
    if (look->others)
      ws_shared_end(tasks, WS_KIND_NORMAL, took && !look->allowed ? task : NULL, queue, true);
    if (!took || look->allowed)
      return took;
  }
  return false;
}

bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, void (*yielded)(void *arg), ws_task_t *task)
{
  const uint32_t turn = queue->round.own_looks++;
  const uint32_t most = turn % DEEP_EVERY < 2 ? depth_max(queue) : TURN_DEPTH_MAX;
  const uint64_t base = queue->wait->base;
  look_t look = {.wait = queue->wait, .yielded = yielded};
  if (may_move_out(queue) && yielded) // fibers yield: to lift them all each time would take long
    return turn_out(tasks, queue, &look, task);
  if (take_oldest(queue, &look, task))
    return true;
  uint64_t index = base;
  const uint64_t newer = end_of(queue) - base - 1; // than the oldest one that was pushed since the wait began
  const bool lies_there =
      turn % 2 == 0 ? queue->wait->group && has_of_group(queue, base, most, &index) : newer < most;
  return lies_there && lift(queue, index, task, NULL, NULL);
}
