// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_inbox.h
/// Life of a task, step 2 for a worker that spins: a thread outside hands it a task directly. Before:
/// ws_push.c; after: ws_worker.c.
///
/// Why        All workers that spin see a task in a lane at once, and contend for it: at 32 CPUs each task of
///            a burst cost its thieves 0.5 us, one after the other. A handed task costs one transfer of a
///            cache line.
/// Roles      The worker opens and shuts its inbox. Any thread outside fills it, and a worker that deals
///            (core/ws_deal.h). Any thread may take from the inbox of a worker that has no CPU.
/// Invariant  AWAY --the worker opens, then sets its bit in a mask--> WAITING
///            WAITING --a thread has taken the bit and written a task--> FULL
///            WAITING --that thread has none: it declines--> AWAY
///            WAITING --the worker takes its bit back--> AWAY
///            WAITING --the worker waits no longer for the thread that has the bit--> GIVEN_UP
///            GIVEN_UP --that thread has written all the same--> VOID --it sees this--> AWAY
///            GIVEN_UP --that thread declines--> AWAY
///            GIVEN_UP --the worker waits for that thread again--> WAITING
///            FULL --the worker shuts--> KEPT --it begins the task--> AWAY
///            FULL --another thread claims it--> TAKEN --task read--> AWAY
///            One thread takes a bit, and fills or declines once; the worker does not open again before.
/// Claims     A thread outside takes the bits of several workers at once: one read-modify-write of a line for
///            which all workers contend. Their number doubles within a burst. It may keep them from one push
///            to the next: a worker that finds work elsewhere gives up. It declines the rest when it waits,
///            ends, or has a task that it cannot hand over.
/// Liveness   A task is FULL only while its worker waits, and a worker that waits shuts its inbox before it
///            does anything else. A worker that gets no CPU is found by the guard (ws_guard.c).
#ifndef WS_INBOX_H
#define WS_INBOX_H

#include "ws_tasks.h"

/// @brief Open the caller's inbox while it waits: a thread may hand it a task. Nothing happens if the inbox
/// is open, or if a thread that had claimed it has not filled or declined it yet.
/// @param mask  where the caller says that it waits: a bit for each worker
/// @return whether the inbox is open now, and was not before
/// @threads  the worker
bool ws_inbox_open(ws_inbox_t *inbox, ws_au64_t *mask);

/// @brief Shut the caller's inbox: no further task may be handed over. @return whether one was: inbox->task
/// @threads  the worker
bool ws_inbox_shut(ws_inbox_t *inbox);

/// @brief The task that ws_inbox_shut has found.
/// @threads  the worker
void ws_inbox_empty(ws_inbox_t *inbox, ws_task_t *task);

/// @return up to @p most workers that wait, which the caller must fill or decline; no bits = there are none
ws_claim_t ws_inbox_claim(const ws_tasks_t *tasks, ws_au64_t *mask, uint32_t most);

/// @return the inbox of the next worker of a claim that has bits, which the caller must fill or decline now
static inline ws_inbox_t *ws_inbox_next(const ws_tasks_t *tasks, ws_claim_t *claim)
{
  const uint32_t index = 64 * claim->word + (uint32_t)__builtin_ctzll(claim->bits);
  claim->bits &= claim->bits - 1;
  return tasks->inbox[index];
}

/// @return the inbox of a worker that spins, which the caller must fill or decline now; NULL = there is none
/// @param lane  the caller's queue, which keeps what it claims beyond
/// @threads  outside of the pool, in no task
ws_inbox_t *ws_inbox_claim_next(ws_tasks_t *tasks, ws_queue_t *lane);

/// @brief Write a task, which counts as pushed, into the inbox that the caller has claimed.
/// @return false = the worker does not wait any more: the caller keeps the task
bool ws_inbox_fill(ws_inbox_t *inbox, const ws_task_t *task);

/// @brief There is no task for the inbox that the caller has claimed.
void ws_inbox_decline(ws_inbox_t *inbox);

/// @brief Decline the inboxes of the rest of a claim.
void ws_inbox_decline_all(const ws_tasks_t *tasks, ws_claim_t *claim);

/// @brief The owner of @p lane waits, or ends: it pushes no more now.
static inline void ws_inbox_give_back(const ws_tasks_t *tasks, ws_queue_t *lane)
{
  lane->claim_next = 0;
  if (WS_UNLIKELY(lane->claim.bits != 0))
    ws_inbox_decline_all(tasks, &lane->claim);
}

/// @brief Take a task of @p group that the caller has handed over and whose worker has not begun it: one look
/// at one worker. @param lane  the caller's queue
bool ws_inbox_take_back(ws_tasks_t *tasks, ws_queue_t *lane, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task from an inbox if the guard has found its worker without a CPU.
bool ws_inbox_take_starved(ws_inbox_t *inbox, ws_task_t *task);

/// @return whether ws_inbox_take_starved() would probably find a task
bool ws_inbox_is_left(const ws_inbox_t *inbox);

/// @return tasks in inboxes
uint32_t ws_inbox_count(const ws_tasks_t *tasks);

/// @return whether a worker that spins has an open inbox, or the owner of @p lane has claimed one. Only a
/// hint
static inline bool ws_inbox_is_wanted(const ws_tasks_t *tasks, const ws_queue_t *lane)
{
  if (lane->claim.bits != 0)
    return true;
  for (uint32_t i = 0; i < tasks->mask_words; i++)
    if (ws_hint_load(&tasks->waiting[i]))
      return true;
  return false;
}

/// @return whether a thread has, or may have, a claim of the caller's inbox; false: it was declined, or is
///         not open
/// @threads  the worker
static inline bool ws_inbox_is_claimed(const ws_inbox_t *inbox)
{
  const uint64_t word = ws_load_relaxed(&inbox->state); // relaxed: ws_inbox_open and ws_inbox_shut decide
  return word % WS_INBOX_STATES != WS_INBOX_AWAY;
}

/// @return whether an inbox holds a task, or did a moment ago
static inline bool ws_inbox_is_full(const ws_inbox_t *inbox)
{
  return ws_load_relaxed(&inbox->state) % WS_INBOX_STATES == WS_INBOX_FULL; // relaxed: ws_inbox_shut decides
}

#endif
