// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.c
/// ws_dig.h.
#include "ws_dig.h"

#include "ws_shared.h"

/// By how many tasks more each turn may reach under.
#define TURN_DEPTH 64u

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

/// Take the tasks from index @p from on, the newest first: their cells keep them. @return index of the oldest
/// that was taken: thieves have those below it
static uint64_t take_down_to(ws_queue_t *queue, uint64_t from)
{
  ws_task_t task;
  uint64_t first = end_of(queue);
  while (first != from && ws_deque_take(&queue->deque, &task))
    first--;
  return first;
}

/// Put the tasks that were taken from index @p first to below @p end back in their order, but those for which
/// @p drops returns true. Their cells still hold them, for nothing was pushed since. They come to lie lower,
/// at the same index, or one higher, so each is read before the one below it is written. Other threads see
/// all of them at once.
static void put_back(ws_deque_t *deque, uint64_t first, uint64_t end, ws_wanted_t *drops, void *arg)
{
  const ws_ring_t *ring = ws_own_load(&deque->ring);
  uint64_t to = ws_own_load(&deque->bottom);
  ws_task_t lifted, next;
  read_cell(ring, first, &next);
  for (uint64_t i = first; i < end; i++) {
    lifted = next;
    read_cell(ring, i + 1, &next);
    if (!drops(&lifted, i, arg))
      ws_cell_write(&ring->cell[to++ & ring->mask], &lifted); // there is room: it lay here before
  }
  ws_store_release(&deque->bottom, to); // [edge DEQ_PUBLISH release] cells
}

void ws_dig_all(ws_queue_t *queue, ws_wanted_t *takes, void *arg)
{
  const uint64_t end = end_of(queue);
  put_back(&queue->deque, take_down_to(queue, 0), end, takes, arg);
}

/// Push a lifted task to the overflow queue.
/// @param since  the innermost wait since whose begin the task was pushed; NULL = before all
/// @return whether the queue had room for it, or could grow
static bool move_out(ws_tasks_t *tasks, ws_queue_t *queue, const ws_task_t *task, ws_wait_t *since)
{
  const bool has_room = ws_shared_begin(tasks, WS_KIND_NORMAL, tasks->grows);
  if (has_room)
    ws_shared_end(tasks, WS_KIND_NORMAL, task, queue, ws_wait_since(since));
  return has_room;
}

/// Which tasks a dig takes from under others: those of some indices,
typedef struct {
  uint64_t from, to; ///< from: the oldest; to: above the newest
  const ws_wait_t *wait; ///< and of its group; NULL = of any
} layer_t;

static bool is_in_layer(const ws_task_t *task, uint64_t index, void *layer_arg)
{
  const layer_t *layer = layer_arg;
  return index >= layer->from && index < layer->to && (!layer->wait || is_of_group(layer->wait, task));
}

/// Take the newest task of a layer. The others of the layer go to the overflow queue as long as it has room:
/// so the tasks above are lifted once, and not for each of them. The tasks above, and those without room, go
/// back, and the bases of the thread's waits move along. @return false = thieves have taken the layer
static bool lift(ws_tasks_t *tasks, ws_queue_t *queue, layer_t layer, ws_task_t *task)
{
  const uint64_t end = end_of(queue), first = take_down_to(queue, layer.from);
  queue->wait->has_hidden = true;
  const ws_ring_t *ring = ws_own_load(&queue->deque.ring);
  for (ws_wait_t *lower = queue->wait; lower; lower = lower->outer)
    ws_dig_lower(lower);
  ws_wait_t *wait = queue->wait; // with its base at the present index or below it
  uint64_t kept = 0; // of the present index and above
  bool found = false;
  for (uint64_t i = end; i-- > first;) {
    for (; wait && wait->base > i; wait = wait->outer)
      wait->base = kept; // as a distance from the end, until that is known
    ws_task_t lifted;
    read_cell(ring, i, &lifted);
    const bool is_wanted = is_in_layer(&lifted, i, &layer);
    if (is_wanted && !found) {
      *task = lifted;
      found = true;
    } else if (!is_wanted || !move_out(tasks, queue, &lifted, wait)) {
      layer.from = is_wanted ? i + 1 : layer.from; // no room: this one and those below it stay
      kept++;
    }
  }
  for (; wait && wait->base == first; wait = wait->outer)
    wait->base = kept;
  put_back(&queue->deque, first, end, is_in_layer, &layer);
  for (ws_wait_t *moved = queue->wait; moved != wait; moved = moved->outer) {
    moved->base = end_of(queue) - moved->base;
    moved->searched_below = moved->searched_below < first ? moved->searched_below
                                                          : first; // of the innermost until it looks again
  }
  return found;
}

/// Take the newest task of the group that lies below the base; the others there go to the overflow queue.
/// @return false = there is none, or thieves have taken it
static bool dig_up(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task)
{
  ws_wait_t *wait = queue->wait;
  const ws_ring_t *ring = ws_own_load(&queue->deque.ring);
  const uint64_t top = ws_hint_load(&queue->deque.top),
                 least = wait->searched_below > top ? wait->searched_below : top;
  layer_t layer = {.from = wait->base, .to = wait->base, .wait = wait};
  for (uint64_t i = wait->base; i-- > least;) {
    ws_task_t there;
    read_cell(ring, i, &there);
    layer.from = is_of_group(wait, &there) ? i : layer.from;
  }
  if (layer.from != layer.to)
    return lift(tasks, queue, layer, task);
  wait->searched_below = wait->base;
  return false;
}

/// The newest task is not of the group, or a thief has taken it: take the oldest if it is of the group; else
/// the newest if it was pushed since the wait began; else the newest of the group below the base.
WS_SELDOM static bool take_other(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task)
{
  ws_steal_memo_t memo = {0};
  layer_t whole = {.to = UINT64_MAX, .wait = queue->wait};
  if (ws_deque_steal_wanted(&queue->deque, &memo, is_in_layer, &whole, task) == WS_STEAL_GOT
      || (end_of(queue) > queue->wait->base && ws_deque_take(&queue->deque, task)))
    return true;
  ws_dig_anew(queue, queue->wait); // none that is left was pushed since the wait began
  return dig_up(tasks, queue, task);
}

bool ws_dig(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task)
{
  const bool is_newest = ws_deque_peek(&queue->deque, task) && is_of_group(queue->wait, task);
  const bool found = (is_newest && ws_deque_take(&queue->deque, task)) || take_other(tasks, queue, task);
  if (end_of(queue) < queue->wait->base)
    queue->wait->base = end_of(queue); // what is pushed next was pushed since the wait began
  return found;
}

/// What a wait takes of the oldest tasks, at the end of a round.
typedef struct {
  const ws_wait_t *wait;
  void (*yielded)(void *arg);
} look_t;

static bool wants_in_turn(const ws_task_t *task, uint64_t index, void *look_arg)
{
  const look_t *look = look_arg;
  return index >= look->wait->base || is_of_group(look->wait, task)
         || (look->yielded && task->func == look->yielded);
}

bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, void (*yielded)(void *arg), ws_task_t *task)
{
  const ws_wait_t *wait = queue->wait;
  look_t look = {.wait = wait, .yielded = yielded};
  ws_steal_memo_t memo = {0};
  // if thieves are quicker each time, it is the next turn's
  if (ws_deque_size(&queue->deque) > 0
      && ws_deque_steal_wanted(&queue->deque, &memo, wants_in_turn, &look, task) == WS_STEAL_GOT)
    return true;
  if (queue->dig_turns++ % 2 == 0)
    return wait->group && dig_up(tasks, queue, task);
  queue->dig_reach += TURN_DEPTH;
  if (end_of(queue) <= wait->base || end_of(queue) - wait->base > queue->dig_reach)
    return false;
  queue->dig_reach = 0;
  return lift(tasks, queue, (layer_t){.from = wait->base, .to = wait->base + 1}, task);
}
