// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_run.h
/// Life of a task, step 5: run. One place for the ways in which a task can run: from a queue, inline, late.
/// Before: ws_worker.c; after: ws_group.c.
#ifndef WS_RUN_H
#define WS_RUN_H

#include "../pool/ws_types.h"

/// @brief Run a task taken from a queue, or skip it if the pool aborts. The caller must complete the group
/// and count the task, for several tasks of one group at once if it likes. @param queue  the caller's
void ws_run(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Count @p tasks as run.
/// @param queue  of the thread that has run them, NULL = it has none
static inline void ws_count_run(struct ws_pool_s *pool, ws_queue_t *queue, uint32_t tasks)
{
  if (queue) // [edge POOL_IDLE release] what the tasks wrote
    ws_store_release(&queue->count.run, ws_own_load(&queue->count.run) + tasks);
  else
    ws_add_release(&pool->count.laneless_run, tasks); // [edge POOL_IDLE release]
}

/// @brief @p tasks of one group, or of none, have run: complete as many units of the group, and count the
/// tasks. Count last: a thread that waits for the pool may free the group then.
/// @param queue  of the thread that has run them, NULL = it has none
static inline void ws_complete(struct ws_pool_s *pool, ws_queue_t *queue, ws_group_t *group, uint32_t tasks)
{
  if (ws_group_counts(group))
    ws_group_complete(group, tasks);
  ws_count_run(pool, queue, tasks);
}

/// @brief Wake the threads that wait for the pool (ws_pool_wait(), ws_pool_stop()), if there are any: they
/// look whether it is idle. Call when the caller may have counted the last run.
WS_FOR_FIBERS void ws_note_idle(struct ws_pool_s *pool);

/// @brief Complete the tasks that the calling worker has run, and count them.
/// @threads  the worker
void ws_complete_due(ws_worker_t *worker);

/// @brief Run a task taken from a queue, or skip it if the pool aborts; complete its group, count it. Tasks
/// that it pushes have its group as root, if the caller's queue is empty. Without a queue as ws_run_late().
void ws_run_whole(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Count @p tasks as pushed, before they can run: a thread that compares run with pushed must never
/// see more run.
/// @param queue  the caller's queue, NULL = it has none
/// @param tasks  UINT64_MAX = one less: a push that was counted has failed
WS_FOR_FIBERS void ws_count_pushed(struct ws_pool_s *pool, ws_queue_t *queue, uint64_t tasks);

/// @brief Run a task inside its push: count it as pushed and as run, complete its group.
void ws_run_inline(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Run a task that was pushed while the pool stopped, that a thread without a lane has taken, or whose
/// place a fiber needs (ws_swap()), or skip it after an abort; complete its group, count it.
void ws_run_late(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @return whether the calling thread is inside a task of @p pool. Works with and without a lane: the thread
///         may have taken a lane since it began the task
bool ws_is_inside(const struct ws_pool_s *pool, ws_here_t here);

/// @brief The loop of a worker's thread, which ws_start.c makes: find, run, spin, park, until the pool has
/// stopped.
void ws_worker_loop(ws_worker_t *worker);

/// @brief Report a task that an abort skips: call what pool->skips has for it, or settings.skipped.
/// @param notice  out: the task that reports it, if pool->skips has one as a task. The caller runs it then
/// @return true = nothing was called: @p notice is to run in the task's place
WS_FOR_FIBERS bool ws_skip_report(const struct ws_pool_s *pool, const ws_task_t *task, ws_task_t *notice);

// The root of a thread's queue: the group of the task whose descendants are queued there. A thread that waits
// for that group may take them (ws_next.c).

/// @brief A task begins in the worker's loop, or by ws_run_whole(): its group becomes the root of the
/// caller's queue, if that is empty. @return the root before
static inline ws_group_t *ws_root_enter(ws_queue_t *queue, ws_group_t *group)
{
  ws_group_t *before = ws_own_load(&queue->root);
  // While the queue holds older tasks it keeps its root: they do not belong to this one.
  if (ws_deque_size(&queue->deque) == 0)
    // [edge ROOT release] before the tasks that will be pushed under it
    ws_store_release(&queue->root, group);
  return before;
}

/// @brief The task at the bottom of the stack has returned, or is a fiber that yields: its group may end, and
/// another group may get its address. Tasks that it has left in the queue have no root any more.
static inline void ws_root_end(ws_queue_t *queue)
{
  if (ws_own_load(&queue->root) != NULL && ws_deque_size(&queue->deque) > 0)
    ws_store_release(&queue->root, NULL); // [edge ROOT release] before the group can end
}

/// The root of a queue that holds tasks of several: the address of this word, which no group has.
extern const uint64_t ws_root_mixed;

/// @brief A task comes into the caller's queue that the root's task need not have pushed. If it is of another
/// group, the queue's tasks are no longer all below the root.
/// @param group  of the task; NULL = none, or not known
static inline void ws_root_mix(ws_queue_t *queue, const ws_group_t *group)
{
  const ws_group_t *root = ws_own_load(&queue->root);
  if ((const void *)root != &ws_root_mixed && (!root || !group || !ws_group_is(group, root, true)))
    ws_store_release(&queue->root, (void *)(uintptr_t)&ws_root_mixed); // [edge ROOT release] before that task
}

/// @brief The task of ws_run_whole() has returned: set the root back to @p before. The tasks that it has left
/// in the queue are below that root, too. If an unrelated task has come into the queue, the root stays mixed.
static inline void ws_root_leave(ws_queue_t *queue, ws_group_t *before)
{
  if (WS_UNLIKELY(ws_own_load(&queue->root) == &ws_root_mixed) && ws_deque_size(&queue->deque) > 0)
    return;
  ws_store_release(&queue->root, before); // [edge ROOT release] what is still queued is below it, too
}

#endif
