// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.h
/// What a wait takes from the deque of its thread. It must reach its group's tasks without running unrelated
/// ones, or the last awake thread could wait without end. A worker moves the unrelated tasks that lie above
/// to the overflow queue (ws_shared.h), where other workers find them. A thread outside lifts them, takes its
/// task, and puts them back. So does a worker in a wait inside another wait: the outer one may need those
/// tasks, and only it may run them if all other workers are busy. So does a worker if that queue is full.
///
/// Bases     Each wait of a thread has a base in the thread's deque. Tasks from the base on were pushed since
///           the wait began, by tasks that the wait has run: the wait may run them. Tasks below the base are
///           unrelated. A dig that puts tasks back moves them by one index: down if it took a task from under
///           them; up if thieves took all tasks under them meanwhile, because taking the last task of a deque
///           moves its top past it. The bases of all waits of the thread above the hole move along. Otherwise
///           an outer wait would take the newest unrelated task for one that was pushed since it began.
/// Turns     At the end of a round (ws_round.h), or when a fiber has yielded, a task goes first that would
///           otherwise be late: the oldest in the deque, if the wait may run it. If not, the thread reaches
///           under the newer ones, a bounded number of them, in turns for a task of the group and for the
///           oldest above the base. After a yield a worker moves the oldest ones to the overflow queue
///           instead. So tasks that push themselves again, and fibers that yield, never keep a wait from its
///           other tasks.
/// Hidden    No other thread can see the tasks that are lifted. So after a dig the caller looks whether a
///           worker has gone to sleep meanwhile (ws_fill_place).
/// @threads  the queue's owner, for all functions
#ifndef WS_DIG_H
#define WS_DIG_H

#include "ws_tasks.h"

/// @brief The caller's wait begins, or begins anew: tasks that are pushed from now on are the wait's.
static inline void ws_dig_begin(const ws_queue_t *queue, ws_wait_t *wait)
{
  wait->base = ws_own_load(&queue->deque.bottom);
}

/// @brief Take a task that the innermost wait may run: the newest or the oldest of the deque, if it carries
/// the group; else one that was pushed since the wait began; else the newest of the group at any depth.
/// @param hid  out: set to true if other tasks were hidden for a moment
bool ws_dig(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task, bool *hid);

/// @brief A round of the innermost wait is over: take the oldest task that it may run. Other tasks are hidden
/// for a moment.
/// @param yielded  function of a fiber's task that has yielded: such tasks may run, too; NULL = none has
bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, void (*yielded)(void *arg), ws_task_t *task);

/// @brief Outside any wait: take all tasks for which @p takes returns true. The others keep their order, and
/// are hidden for a moment.
void ws_dig_all(ws_queue_t *queue, ws_takes_t *takes, void *arg);

#endif
