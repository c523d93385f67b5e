// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_run.h
/// Life of a task, step 5: run. One place for the ways in which a task can run: from a queue, inline, late.
#ifndef WS_RUN_H
#define WS_RUN_H

#include "../pool/ws_types.h"

/// @brief Run a task taken from a queue, or skip it when the pool aborts. Does not complete its group, nor
/// count it: the caller does, and may do so for several tasks of one group at once.
void ws_run(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Count @p tasks as run, after their groups were completed: who waits for the pool may free the
/// groups then.
void ws_count_run(ws_queue_t *queue, uint32_t tasks);

/// @brief Run a task taken from a queue under its own root, complete its group, count it.
void ws_run_whole(struct ws_pool_s *pool, ws_queue_t *queue, const ws_task_t *task);

/// @brief Complete the group of a task that came from no queue, or that ended its thread, and count it.
void ws_finish(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Count @p tasks as pushed, before they can run: who compares run with pushed must never see more
/// run.
/// @param queue  the caller's, NULL = it has none
void ws_count_pushed(struct ws_pool_s *pool, ws_queue_t *queue, uint64_t tasks);

/// @brief Run a task inside its push; completes its group.
void ws_run_inline(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @brief Deal with a task that was pushed while the pool stopped: run it, or skip it after an abort;
/// completes its group.
void ws_run_late(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task);

/// @return whether the calling thread, which is no worker of @p pool, is inside a task of it. With a lane or
/// without: in the middle of a task that it began without one it may have found a lane since
bool ws_is_inside(const struct ws_pool_s *pool, ws_here_t here);

/// @brief Tell threads in ws_pool_wait that the caller has run out of work.
void ws_note_idle(struct ws_pool_s *pool);

/// @brief Set the root of the caller's queue for a task that did not come from it. @return the root before
static inline ws_group_t *ws_root_enter(ws_queue_t *queue, ws_group_t *group)
{
  ws_group_t *before = ws_load_relaxed(&queue->root); // relaxed: only the owner writes it
  // While the queue holds older tasks it keeps its root: they do not belong to this one.
  if (ws_deque_size(&queue->deque) == 0)
    // [edge ROOT release] before the tasks that will be pushed under it
    ws_store_release(&queue->root, group);
  return before;
}

/// @brief The task at the bottom of the stack has returned: its group may end, and another take its address.
/// What it has left in the queue belongs to nobody who could be told apart.
static inline void ws_root_end(ws_queue_t *queue)
{
  // relaxed: only the owner writes it
  if (ws_deque_size(&queue->deque) != 0 && ws_load_relaxed(&queue->root) != NULL)
    ws_store_release(&queue->root, NULL); // [edge ROOT release] before the group can end
}

static inline void ws_root_leave(ws_queue_t *queue, ws_group_t *before)
{
  ws_store_release(&queue->root, before); // [edge ROOT release] what is still queued belongs to that one too
}

#endif
