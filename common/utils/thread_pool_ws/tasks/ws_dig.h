// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.h
/// What a wait takes from the queue of its thread. It must reach its group's tasks without running unrelated
/// ones, or the last awake thread could wait without end. A worker moves the unrelated tasks that lie above
/// to the overflow queue (ws_shared.h), where other workers find them. A thread outside lifts them, takes its
/// task, and puts them back. So does a worker in a wait inside another wait: the outer one may need those
/// tasks, and only it may run them if all other workers are busy. So does a worker if that queue is full.
///
/// Marks     Each wait of a thread keeps a mark in the thread's deque. Tasks from the mark on were
///           pushed since the wait began, by tasks that the wait has run: the wait may run them. Tasks below
///           the mark are unrelated. A dig that puts tasks back moves them by one index: down if it took a
///           task from under them; up if thieves took all tasks under them meanwhile, because taking the last
///           task of a deque moves its top past it. The marks of all waits of the thread above the hole move
///           along. Otherwise an outer wait would take the newest unrelated task for one that was pushed
///           since its mark.
/// Turns     At the end of a round (ws_round.h), or when a fiber has yielded, a task goes first that would
///           otherwise be late: the oldest in the deque, if the wait may run it. If not, the thread reaches
///           under the newer ones, a bounded number of them, in turns for a task of the group and for the
///           oldest above the mark. After a yield a worker moves the oldest ones to the overflow queue
///           instead. So tasks that push themselves again, and fibers that yield, never keep a wait from its
///           other tasks.
/// @threads  the queue's owner, for all functions
#ifndef WS_DIG_H
#define WS_DIG_H

#include "ws_queue.h"

/// Tasks that most turns reach under, or that a worker moves then.
#define WS_TURN_DEPTH_MAX 64u

/// @return how deep a wait digs. A worker may be the only thread that can run the task
static inline uint32_t ws_dig_depth_max(const ws_queue_t *queue)
{
  return queue->of_worker ? UINT32_MAX : WS_DIG_DEPTH_MAX;
}

/// @return index of the next task that will be pushed there
static inline uint64_t ws_dig_end(const ws_deque_t *deque)
{
  return ws_own_load(&deque->bottom);
}

/// @brief Begin a wait's mark: tasks that are pushed from now on are the wait's.
static inline void ws_dig_mark(const ws_tasks_t *tasks, const ws_queue_t *queue, ws_mark_t *mark)
{
  mark->index = ws_dig_end(&queue->deque);
  mark->number = ws_hint_load(&tasks->shared_number); // not older than the caller's last push
}

/// @brief Take a task that a wait for @p group may run: the newest or the oldest, if it carries the group.
/// @param weak  or a weak tag of the group
static inline bool ws_dig_top(ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task)
{
  ws_deque_t *deque = &queue->deque;
  uint64_t *begin = &queue->mark->index;
  if (!ws_grouped_take(deque, group, weak, task))
    return false;
  if ((int64_t)(ws_dig_end(deque) - *begin) < 0)
    *begin = ws_dig_end(deque);
  return true;
}

/// @brief The same after ws_dig_top() has found none: a task that was pushed since the wait's mark, or one of
/// the group at any depth.
/// @param hid  out: set to true if other tasks could not be seen for a moment (ws_fill_place)
bool ws_dig_under(ws_tasks_t *tasks, ws_queue_t *queue, const ws_group_t *group, bool weak, ws_task_t *task,
                  bool *hid);

/// Where the thread looks at the end of a round.
typedef struct {
  bool down; ///< below the mark for a task of the group; false = for the oldest above it
  uint32_t depth_max; ///< tasks that it reaches under
} ws_turn_t;

/// @brief A round of a wait is over: take the oldest task that the wait may run. No thread can see
/// other tasks for a moment (ws_fill_place).
/// @param allowed  from: set here. func: function of a fiber's task that has yielded; NULL = none
bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, const ws_turn_t *turn, ws_allowed_t allowed,
                 ws_task_t *task);

#endif
