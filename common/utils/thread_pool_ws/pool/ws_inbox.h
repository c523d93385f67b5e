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
/// Invariant  AWAY --the worker opens, then sets its bit in pool->waiting--> WAITING
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

#include "ws_types.h"

/// @brief Open the worker's inbox while it spins: threads outside may hand it a task. Nothing happens if the
/// inbox is open.
void ws_inbox_open(ws_worker_t *worker);

/// @brief Shut the worker's inbox: no further task may be handed over. @return whether one was:
/// worker->inbox.task
bool ws_inbox_shut(ws_worker_t *worker);

/// @brief The task that ws_inbox_shut has found.
void ws_inbox_empty(ws_worker_t *worker, ws_task_t *task);

/// @return a worker that spins, whose inbox the caller must fill now; NULL = there is none
/// @threads  outside of the pool, in no task
ws_worker_t *ws_inbox_claim(struct ws_pool_s *pool);

/// @brief Write a task, which counts as pushed, into the inbox that the caller has claimed.
/// @return false = the worker does not wait any more: the caller keeps the task
bool ws_inbox_fill(ws_worker_t *worker, ws_here_t here, const ws_task_t *task);

/// @brief Take a task of @p group that the caller has handed over and whose worker has not begun it: one look
/// at one worker.
bool ws_inbox_take_back(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task);

/// @brief Take a task from the inbox of a worker that the guard has found without a CPU.
bool ws_inbox_take_starved(struct ws_pool_s *pool, ws_task_t *task);

/// @return tasks in inboxes. @param starved_only  of workers without a CPU
uint32_t ws_inbox_count(const struct ws_pool_s *pool, bool starved_only);

/// @return whether a worker that spins has an open inbox; only a hint
static inline bool ws_inbox_is_wanted(const struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < pool->mask_words; i++)
    if (ws_load_relaxed(&pool->waiting[i])) // relaxed: a hint
      return true;
  return false;
}

/// @return whether the worker's inbox holds a task, or did a moment ago
static inline bool ws_inbox_is_full(const ws_worker_t *worker)
{
  // relaxed: ws_inbox_shut decides
  return ws_load_relaxed(&worker->inbox.state) % WS_INBOX_STATES == WS_INBOX_FULL;
}

#endif
