// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_dig.h
/// What a wait takes from the deque of its thread. It must reach its group's tasks without running unrelated
/// ones, or the last awake thread could wait without end. Where unrelated tasks lie above, the thread lifts
/// them, takes its task, moves the others of its group to the overflow queue (ws_shared.h), and puts the
/// lifted ones back. There the wait finds the moved ones at once, and other workers find them, too.
///
/// Bases     Each wait of a thread has a base in the thread's deque. Tasks from the base on were pushed since
///           the wait began, by tasks that the wait has run: the wait may run them. Tasks below the base are
///           unrelated, unless they carry the group. A dig that puts tasks back moves them: down if it took
///           or moved tasks from under them; up by one if thieves took all tasks under them meanwhile,
///           because taking the last task of a deque moves its top past it. The bases of all waits of the
///           thread move along. Otherwise an outer wait would take the newest unrelated task for one that was
///           pushed since it began. If the deque becomes shorter than the base of an outer wait, that base
///           follows when the inner wait ends or digs (ws_dig_lower).
/// Costs     A wait reads each task below its base once, or twice if it digs (ws_wait_t.searched_below), and
///           lifts each once for all tasks of its group that lie below.
/// Turns     At the end of a round (ws_round.h), or when a fiber has yielded, a task goes first that would
///           otherwise be late: the oldest in the deque, if the wait may run it. If not, the thread reaches
///           under the newer ones, in turns for its group's tasks below the base and for the oldest above it.
///           For the latter each turn may lift more. So tasks that push themselves again, and fibers that
///           yield, never keep a wait from its other tasks.
/// Hidden    No other thread can see the tasks that are lifted. So after a dig the caller looks whether a
///           worker has gone to sleep meanwhile (ws_fill_slot).
/// @threads  the queue's owner, for all functions
#ifndef WS_DIG_H
#define WS_DIG_H

#include "ws_tasks.h"

/// @brief Lower the base of the wait around this one to this wait's. The deque has been that short, so all
/// tasks above were pushed since the outer wait began, too.
static inline void ws_dig_lower(const ws_wait_t *wait)
{
  if (wait->outer && wait->outer->base > wait->base)
    wait->outer->base = wait->base;
}

/// @brief The caller's wait begins: tasks that are pushed from now on are the wait's.
static inline void ws_dig_begin(const ws_queue_t *queue, ws_wait_t *wait)
{
  wait->base = ws_own_load(&queue->deque.bottom);
  wait->searched_below = 0;
  wait->kinds = 0;
}

/// @brief The caller's wait begins anew: tasks that were pushed so far are not the wait's any more: only
/// the wait around it has them.
static inline void ws_dig_anew(const ws_queue_t *queue, ws_wait_t *wait)
{
  if (wait->searched_below > wait->base)
    wait->searched_below = wait->base;
  ws_dig_lower(wait);
  wait->base = ws_own_load(&queue->deque.bottom);
}

/// @brief Take a task that the innermost wait may run: the newest or the oldest of the deque, if it carries
/// the group; else one that was pushed since the wait began; else the newest of the group, however deep it
/// lies: the thread may be the only one that can run it. Sets has_hidden of the wait if it has lifted others.
/// @return false = there is none
bool ws_dig(ws_tasks_t *tasks, ws_queue_t *queue, ws_task_t *task);

/// @brief A round of the innermost wait is over: take the oldest task of the deque, if the wait may run it;
/// else in turns the newest of its group below the base, or the oldest from the base on. Sets has_hidden of
/// the wait if it has lifted others.
/// @param yielded  function of a fiber's task that has yielded: such a task may run, too, if it is the
/// oldest; NULL = none has
/// @return false = there is none, or only one that another call will take
bool ws_dig_turn(ws_tasks_t *tasks, ws_queue_t *queue, void (*yielded)(void *arg), ws_task_t *task);

/// @brief Outside any wait: remove all tasks for which @p takes returns true; it keeps them for the caller.
/// The others keep their order, and are hidden for a moment: call ws_fill_slot() afterwards.
void ws_dig_all(ws_queue_t *queue, ws_wanted_t *takes, void *arg);

#endif
