// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_inbox.h
/// Life of a task, step 2 for a worker that spins: a thread outside hands it a task directly. Before:
/// ws_push.c; after: ws_worker.c.
///
/// Why        All workers that spin see a task in a lane at once, and contend for it: at 32 CPUs each task of
///            a burst cost its thieves 0.5 us, one after the other. A handed task costs one transfer of a
///            cache line.
/// Roles      The worker opens and shuts its inbox. Any thread outside fills it, and a dispatcher
///            (wide/ws_dispatch.c). A thread outside may take its task back. Any thread may take a task that
///            has lain in an inbox for too long, or after a stop.
/// Invariant  AWAY --the worker opens, then sets its bit in a mask--> WAITING
///            WAITING --a thread has reserved it and written a task--> FULL
///            WAITING --that thread has none: it declines--> AWAY
///            WAITING --the worker takes its bit back--> AWAY
///            FULL --the worker shuts--> KEPT --it begins the task--> AWAY
///            FULL --another thread takes it--> TAKEN --task read--> AWAY
///            One thread takes a bit, and fills or declines once. Until then it alone writes the state: with
///            plain stores, because a read-modify-write would wait for the worker's cache line.
/// Reserve    A thread takes a worker's bit: then it is the inbox's filler. A dispatcher, and a thread
///            outside in a pool with domains, takes several at once: one read-modify-write of a line for
///            which all workers contend. Their number doubles within a burst. A thread outside may keep them
///            from one push to the next. It declines the rest when it waits, runs a task, ends, or has a task
///            that it cannot hand over.
/// Leaving    A worker that waits no longer for the thread that has its bit sets `gone`, and then counts
///            itself in tasks->left. The filler reads that count before it reserves, and before and after a
///            fill: if it has changed, the filler looks whether the worker has gone, and keeps its task.
/// Fences     [edge LEFT_DEKKER] The filler's fence between its fill and its second look is light where the
///            kernel offers membarrier(2): then a fill that is still in the filler's store buffer can miss a
///            worker that leaves. That worker finds the task at its next search, or before it sleeps; if it
///            runs a long task, the guard finds it. The guard and a stop have heavy fences
///            (ws_os_fence_heavy), so they miss no fill.
/// Liveness   The guard marks a task that it sees in an inbox at two looks, and then any thread takes it
///            (ws_guard.c): the worker has no CPU, or has gone.
#ifndef WS_INBOX_H
#define WS_INBOX_H

#include "ws_tasks.h"

/// The diagram above, which Inbox.pml has, too.
static const uint32_t ws_inbox_changes[WS_INBOX_STATES] = {
    [WS_INBOX_AWAY] = WS_TO(WS_INBOX_WAITING),
    [WS_INBOX_WAITING] = WS_TO(WS_INBOX_FULL) | WS_TO(WS_INBOX_AWAY),
    [WS_INBOX_FULL] = WS_TO(WS_INBOX_KEPT) | WS_TO(WS_INBOX_TAKEN),
    [WS_INBOX_KEPT] = WS_TO(WS_INBOX_AWAY),
    [WS_INBOX_TAKEN] = WS_TO(WS_INBOX_AWAY),
};

/// @brief Open the caller's inbox while it waits: a thread may hand it a task. Nothing happens if the inbox
/// is open. If the caller has left it, and a thread still has its bit of the same mask, it waits for that
/// thread again.
/// @param mask  where the caller sets its bit: tasks->waiting, or the mask of its domain
/// @threads  the worker
void ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask);

/// @brief Shut the caller's inbox: it does not wait any more. If a thread has reserved it, and does not fill
/// it within a few pauses, the caller leaves it: gone. @return whether a task was handed over: it is KEPT,
/// and the caller must call ws_inbox_empty()
/// @threads  the worker
bool ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox);

/// @brief Look what has become of an inbox that the caller has left though a thread had reserved it: gone.
/// @return whether a task was handed over: it is KEPT, and the caller must call ws_inbox_empty()
/// @threads  the worker
bool ws_inbox_look(ws_inbox_t *inbox);

/// @brief Take out the task that ws_inbox_shut() or ws_inbox_look() has found (KEPT), or that the caller has
/// TAKEN. The inbox is AWAY then.
void ws_inbox_empty(ws_inbox_t *inbox, ws_task_t *task);

/// @param mask  tasks->waiting, or the mask of a domain
/// @return up to @p most workers that wait, of one word of the mask, which the caller must give tasks or
///         decline; no bits = there are none
ws_reserved_t ws_inbox_reserve(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most);

/// @return whether @p lane has reserved a worker that spins. If it has none it reserves some
/// @threads  the owner of the lane: outside of the pool, in no task
bool ws_inbox_reserve_more(ws_tasks_t *tasks, ws_queue_t *lane);

/// @brief Hand a task, which was counted as pushed, to the next worker that is reserved; there is one.
/// @param own  the caller's queue
/// @param reserved  in and out: that worker is not reserved any more, whatever is returned
/// @return false = that worker does not wait any more: the caller keeps the task
bool ws_inbox_give(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *reserved, const ws_task_t *task);

/// @brief ws_inbox_give() to a worker that the lane has reserved.
/// @threads  the owner of the lane
static inline bool ws_inbox_hand(const ws_tasks_t *tasks, ws_queue_t *lane, const ws_task_t *task)
{
  const bool given = ws_inbox_give(tasks, lane, &lane->outbox.reserved, task);
  lane->outbox.handed |= given;
  return given;
}

/// @return whether the owner of the lane has handed tasks to workers since its last join
static inline bool ws_inbox_has_handed(const ws_queue_t *lane)
{
  return WS_UNLIKELY(lane->outbox.handed);
}

/// @brief The owner's outermost join has ended: later ones need not look for tasks to take back. If any of
/// other groups are left, their workers take them.
static inline void ws_inbox_forget(ws_queue_t *lane)
{
  lane->outbox.handed = false;
}

/// @brief There are no tasks for the rest of those that are reserved: they are AWAY then. @param own  the
/// caller's queue
void ws_inbox_decline(const ws_tasks_t *tasks, ws_queue_t *own, ws_reserved_t *reserved);

/// @brief The owner of @p lane has no tasks for the workers that it has reserved: it waits, runs a task,
/// pushes to a queue, or ends.
/// @threads  the owner of the lane
static inline void ws_inbox_give_back(const ws_tasks_t *tasks, ws_queue_t *lane)
{
  lane->outbox.last = 0;
  if (WS_UNLIKELY(lane->outbox.reserved.bits != 0))
    ws_inbox_decline(tasks, lane, &lane->outbox.reserved);
}

/// @brief Take a task of @p group that the caller has handed over and whose worker has not begun it: one look
/// at one worker, each time at the next. @param lane  the caller's queue. @return whether it has one
bool ws_inbox_take_back(ws_tasks_t *tasks, ws_queue_t *lane, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task from any inbox: the pool has stopped. Call after a fence that follows the stop.
/// @return false = there is none
bool ws_inbox_take_any(const ws_tasks_t *tasks, ws_task_t *task);

/// @brief Look at all inboxes, and mark the tasks that were there at the last look, too (inbox->stuck).
/// tasks->stuck has their number then.
/// @return tasks in inboxes
/// @threads  the guard
uint32_t ws_inbox_watch(ws_tasks_t *tasks);

/// @brief Take a task that is marked. @return false = there is none, or others were quicker
bool ws_inbox_take_stuck(ws_tasks_t *tasks, ws_task_t *task);

/// @return tasks that are marked
uint32_t ws_inbox_stuck(const ws_tasks_t *tasks);

/// @return tasks in inboxes
uint32_t ws_inbox_count(const ws_tasks_t *tasks);

/// @return whether a worker that spins has an open inbox, or the owner of @p lane has reserved one. Only a
/// hint
static inline bool ws_inbox_is_wanted(const ws_tasks_t *tasks, const ws_queue_t *lane)
{
  if (lane->outbox.reserved.bits != 0)
    return true;
  for (uint32_t i = 0; i < tasks->mask_words; i++)
    if (ws_hint_load(&tasks->waiting[i]))
      return true;
  return false;
}

/// @return whether an inbox is in the state WS_INBOX_*, or was a moment ago. Its worker relies on KEPT, which
/// it has set itself, and on AWAY: no thread has it reserved
static inline bool ws_inbox_is(const ws_inbox_t *inbox, uint32_t state)
{
  return ws_load_relaxed(&inbox->state) % WS_INBOX_STATES == state; // relaxed: ws_inbox_shut() decides
}

#endif
