// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_shared.h
/// Life of a task, step 2 off the usual path: the queues that all threads of a pool share, one for each kind.
/// That of WS_KIND_NORMAL, the overflow queue, has the tasks of threads without a lane, tasks that push
/// themselves (ws_push.c), and what a worker's outermost wait moves out of its way (ws_dig.h). The others
/// have the tasks of high priority, of low priority, and for each node.
///
/// Roles      Any thread pushes, any thread takes; oldest first. A thread that waits takes tasks of its group
///            from the middle, and those that it has pushed since the wait began.
/// Shape      A list over cells of one array, under a lock that lends its holder the priority of those who
///            wait for it. So a queue holds exactly its capacity, a take from the middle frees its cell at
///            once, and a thread that is stopped hides no task: who needs the lock has it run on.
/// Bounds     The lock is held for a few stores. While the queue grows it is held for a copy of it, in a
///            cancel that waits for a look at each task, and in a wait for a look at the tasks that came
///            since the wait's last look: at all of them when it begins.
/// Count      tasks->shared_tasks is never below the sum of all sizes. While it is 0, searches look at none
///            of these queues. It only saves looks: the sizes decide whether a worker may sleep. A thread may
///            lose its CPU between count and size, and a real-time worker that trusted the count would keep
///            that CPU.
/// @threads   any, for all functions but the first and the last
#ifndef WS_SHARED_H
#define WS_SHARED_H

#include "ws_tasks.h"

/// @brief Set up an empty queue of @p capacity tasks, whose memory is mapped at its first push.
/// @threads  the creator
void ws_shared_init(ws_shared_t *shared, uint32_t capacity);

/// @brief Map the memory of a queue now. @return false = there is none
bool ws_shared_reserve(ws_shared_t *shared);

/// @brief Begin a push: lock the queue, which has room for a task then. ws_shared_link() must follow at once.
/// @param grow  double a full queue. @return false = it is full, or there is no memory; it is not locked
bool ws_shared_begin(ws_tasks_t *tasks, ws_kind_t kind, bool grow);

/// @brief End a push without a task: unlock the queue.
void ws_shared_abandon(ws_tasks_t *tasks, ws_kind_t kind);

/// @brief Make the task the newest of the queue, and unlock it.
/// @param pusher  the queue of the thread that pushes; NULL = it has none
/// @param moved  the task comes from that queue: no wait takes it for one that was pushed now
void ws_shared_link(ws_tasks_t *tasks, ws_kind_t kind, const ws_task_t *task, const ws_queue_t *pusher,
                    bool moved);

/// @brief Take the oldest task of a kind.
bool ws_shared_take(ws_tasks_t *tasks, ws_kind_t kind, ws_task_t *task);

/// @brief Take the oldest task that the wait may run, wherever it lies. The wait reads each task once.
bool ws_shared_take_wanted(ws_tasks_t *tasks, ws_kind_t kind, ws_wait_t *wait, ws_task_t *task);

/// @brief Take all tasks of all kinds for which @p takes returns true. @return how many
uint64_t ws_shared_sift(ws_tasks_t *tasks, ws_takes_t *takes, void *arg);

/// @return tasks of a kind
static inline uint32_t ws_shared_size(const ws_tasks_t *tasks, ws_kind_t kind)
{
  return ws_hint_load(&tasks->shared[kind].size);
}

/// @return tasks in all these queues, and those that are about to come or have just gone
static inline uint32_t ws_shared_count(const ws_tasks_t *tasks)
{
  return ws_load_relaxed(&tasks->shared_tasks); // relaxed: a hint, or after the caller's fence [PARK_DEKKER]
}

/// @return bytes beyond the first capacity
uint64_t ws_shared_grown_bytes(const ws_tasks_t *tasks, ws_kind_t kind);

/// @return whether a task is queued. Call after a seq_cst fence to decide about sleep
static inline bool ws_shared_visible(const ws_tasks_t *tasks)
{
  for (ws_kind_t kind = 0; kind < tasks->kinds && ws_shared_count(tasks) > 0; kind++)
    if (ws_shared_size(tasks, kind) > 0)
      return true;
  return false;
}

/// @brief Unmap the memory. @threads  one, when no other uses the pool any more
void ws_shared_free(ws_shared_t *shared);

#endif
