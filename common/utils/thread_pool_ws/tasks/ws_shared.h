// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_shared.h
/// Life of a task, step 2 off the usual path: the queues that all threads of a pool share, one for each kind.
/// That of WS_KIND_NORMAL, the overflow queue, has the tasks of threads without a lane, tasks that push
/// themselves (ws_push.c), and tasks of its group that a wait moves out of its thread's deque (ws_dig.h). The
/// others have the tasks of high priority, of low priority, and for each node.
///
/// Roles      Any thread pushes, any thread takes; oldest first. A thread that waits takes tasks of its group
///            from the middle, and those that it has pushed since the wait began.
/// Shape      A list over cells of one array, under a lock that lends its holder the priority of those who
///            wait for it. So a queue holds exactly its capacity, a take from the middle frees its cell at
///            once, and a thread that is stopped hides no task: who needs the lock has it run on.
/// Waits      Two indices (ws_index.h) have the cells by their task's group, and by the innermost wait of the
///            thread that has pushed it. So a wait reads no unrelated task. With a time limit it reads, once
///            each, those of its group that other threads have pushed.
/// Bounds     The lock is held for a few stores. While the queue grows it is held for a copy of it, and in a
///            cancel that waits for a look at each task.
/// Count      tasks->shared_tasks is never below the number of tasks in all lists. While it is 0, searches
///            look at none of these queues. It only saves looks: the lists decide whether a worker may sleep.
///            A thread may be preempted between count and list, and a real-time worker that trusted the count
///            would keep the CPU.
/// @threads   any, for all functions but the first and the last
#ifndef WS_SHARED_H
#define WS_SHARED_H

#include "ws_tasks.h"

/// @brief Set up an empty queue, whose bytes are 0, of @p capacity tasks.
/// @param node  1 + the NUMA node on which its memory lies; 0 = that of the thread that pushes first
/// @param reserve  map the memory now, and not at the first push. @return false = there is none
/// @threads  the creator
bool ws_shared_init(ws_shared_t *shared, uint32_t capacity, uint32_t node, bool reserve);

/// @brief Begin a push: lock the queue, which has room for a task then. ws_shared_end() must follow at once.
/// @param grow  double a full queue. A queue without memory maps its first capacity in any case
/// @return false = it is full, or there is no memory; it is not locked
bool ws_shared_begin(ws_tasks_t *tasks, ws_kind_t kind, bool grow);

/// @brief End a push, after ws_shared_begin(): make a task the newest of the queue, and unlock it.
/// @param pusher  the queue of the thread that pushes; NULL = it has none
/// @param since  a wait of that thread (ws_wait_since), which may run the task; NULL = none
void ws_shared_end(ws_tasks_t *tasks, ws_kind_t kind, const ws_task_t *task, const ws_queue_t *pusher,
                   ws_wait_t *since);

/// @brief A wait ends since which its thread has pushed tasks: what is left of them was pushed since the one
/// around it began, too. If there is none, they belong to no wait. @threads  that of the wait
void ws_shared_forget(ws_tasks_t *tasks, ws_wait_t *wait);

/// @brief Take the oldest task of a kind. @param wait  not NULL: the oldest that this wait may run, wherever
/// it lies. @return false = there is none, or, for a wait, nothing was pushed since its last look found none
bool ws_shared_take(ws_tasks_t *tasks, ws_kind_t kind, ws_wait_t *wait, ws_task_t *task);

/// @brief Remove all tasks of all kinds for which @p takes returns true; it keeps them for the caller. It is
/// called under the lock of the queue, from the oldest task of each to the newest.
void ws_shared_sift(ws_tasks_t *tasks, ws_wanted_t *takes, void *arg);

/// @return whether a task of a kind is queued
static inline bool ws_shared_holds(const ws_tasks_t *tasks, ws_kind_t kind)
{
  return ws_hint_load(&tasks->shared[kind].oldest) != UINT32_MAX;
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
    if (ws_shared_holds(tasks, kind))
      return true;
  return false;
}

/// @brief Unmap the memory of a queue that has grown, if it is empty. The next push maps it as the first one
/// did.
void ws_shared_trim(ws_shared_t *shared);

/// @brief Unmap the memory. @threads  one, when no other uses the pool any more
void ws_shared_free(ws_shared_t *shared);

#endif
