// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_inbox.h
/// Life of a task, step 2 for a worker that spins: a thread outside hands it a task directly. Before:
/// ws_push.c; after: ws_worker.c.
///
/// Why        All workers that spin see a task in a lane at once, and contend for it: at 32 CPUs each task of
///            a burst cost its thieves 0.5 us, one after the other. A handed task costs one transfer of a
///            cache line.
/// Roles      The worker opens and shuts its inbox. Any thread outside fills it. Any thread may take from the
///            inbox of a worker that has no CPU.
/// Invariant  AWAY --the worker opens, then sets its bit in tasks->waiting--> WAITING
///            WAITING --a thread has taken the bit and written a task--> FULL
///            WAITING --the worker takes its bit back--> AWAY
///            WAITING --the worker waits no longer for the thread that has the bit--> GIVEN_UP
///            GIVEN_UP --that thread has written all the same--> VOID --it sees this--> AWAY
///            FULL --the worker shuts--> KEPT --it begins the task--> AWAY
///            FULL --another thread claims it--> TAKEN --task read--> AWAY
///            One thread takes a bit, and fills once; the worker does not open again before that is over.
/// Liveness   A task is FULL only while its worker spins, and a worker that spins shuts its inbox before it
///            does anything else. A worker that gets no CPU is found by the guard (ws_guard.c).
#ifndef WS_INBOX_H
#define WS_INBOX_H

#include "ws_tasks.h"

/// @brief Open the caller's inbox while it spins: threads outside may hand it a task. Nothing happens if the
/// inbox is open.
/// @threads  the worker
void ws_inbox_open(ws_tasks_t *tasks, ws_inbox_t *inbox);

/// @brief Shut the caller's inbox: no further task may be handed over. @return whether one was: inbox->task
/// @threads  the worker
bool ws_inbox_shut(ws_tasks_t *tasks, ws_inbox_t *inbox);

/// @brief The task that ws_inbox_shut has found.
/// @threads  the worker
void ws_inbox_empty(ws_inbox_t *inbox, ws_task_t *task);

/// @return the inbox of a worker that spins, which the caller must fill now; NULL = there is none
/// @threads  outside of the pool, in no task
ws_inbox_t *ws_inbox_claim(ws_tasks_t *tasks);

/// @brief Write a task, which counts as pushed, into the inbox that the caller has claimed.
/// @param lane  the caller's queue
/// @return false = the worker does not wait any more: the caller keeps the task
bool ws_inbox_fill(ws_inbox_t *inbox, ws_queue_t *lane, const ws_task_t *task);

/// @brief Take a task of @p group that the caller has handed over and whose worker has not begun it: one look
/// at one worker. @param lane  the caller's queue
bool ws_inbox_take_back(ws_tasks_t *tasks, ws_queue_t *lane, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task from an inbox if the guard has found its worker without a CPU.
bool ws_inbox_take_starved(ws_inbox_t *inbox, ws_task_t *task);

/// @return whether ws_inbox_take_starved() would probably find a task
bool ws_inbox_is_left(const ws_inbox_t *inbox);

/// @return tasks in inboxes
uint32_t ws_inbox_count(const ws_tasks_t *tasks);

/// @return whether a worker that spins has an open inbox; only a hint
static inline bool ws_inbox_is_wanted(const ws_tasks_t *tasks)
{
  for (uint32_t i = 0; i < tasks->mask_words; i++)
    if (ws_hint_load(&tasks->waiting[i]))
      return true;
  return false;
}

/// @return whether an inbox holds a task, or did a moment ago
static inline bool ws_inbox_is_full(const ws_inbox_t *inbox)
{
  return ws_load_relaxed(&inbox->state) % WS_INBOX_STATES == WS_INBOX_FULL; // relaxed: ws_inbox_shut decides
}

#endif
