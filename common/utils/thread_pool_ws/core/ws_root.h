// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_root.h
/// The root of a thread's queue: the group of the task whose descendants are queued there. A thread that
/// waits for that group may take them (ws_next.c).
#ifndef WS_ROOT_H
#define WS_ROOT_H

#include "../tasks/ws_queue.h"

/// @return whether the caller has tasks queued that belong to the present root, or to none
static inline bool ws_root_holds(const ws_queue_t *queue)
{
  return ws_deque_size(&queue->deque) != 0;
}

/// @brief Set the root of the caller's queue for a task that did not come from it. @return the root before
static inline ws_group_t *ws_root_enter(ws_queue_t *queue, ws_group_t *group)
{
  ws_group_t *before = ws_own_load(&queue->root);
  // While the queue holds older tasks it keeps its root: they do not belong to this one.
  if (!ws_root_holds(queue))
    // [edge ROOT release] before the tasks that will be pushed under it
    ws_store_release(&queue->root, group);
  return before;
}

/// @brief The task at the bottom of the stack has returned: its group may end, and another group may get its
/// address. Tasks that it has left in the queue have no root any more.
static inline void ws_root_end(ws_queue_t *queue)
{
  if (ws_own_load(&queue->root) != NULL && ws_root_holds(queue))
    ws_store_release(&queue->root, NULL); // [edge ROOT release] before the group can end
}

/// The root of a queue that holds tasks of several: the address of this word, which no group has.
extern const uint64_t ws_root_mixed;

/// @brief A task of another group comes into the caller's queue, whose tasks are then no longer all below the
/// root.
static inline void ws_root_mix(ws_queue_t *queue, const ws_group_t *group)
{
  const ws_group_t *root = ws_own_load(&queue->root);
  if ((const void *)root != &ws_root_mixed && (!root || !group || !ws_group_is(group, root, true)))
    ws_store_release(&queue->root, (void *)(uintptr_t)&ws_root_mixed); // [edge ROOT release] before that task
}

/// @brief A task that did not come from the caller's queue has returned. What it left there belongs to the
/// root of before, too, unless an unrelated task has come there.
static inline void ws_root_leave(ws_queue_t *queue, ws_group_t *before)
{
  if (WS_UNLIKELY(ws_own_load(&queue->root) == &ws_root_mixed) && ws_root_holds(queue))
    return;
  ws_store_release(&queue->root, before); // [edge ROOT release] what is still queued belongs to that one too
}

#endif
