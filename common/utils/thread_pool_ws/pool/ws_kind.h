// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_kind.h
/// Tasks of a kind: of high priority, of low priority, or for a NUMA node. Each thread that pushes such tasks
/// has one more queue for each kind; all are made at its first such push. Other tasks stay where they are,
/// and cost nothing more.
///
/// Roles    As in ws_queue.h: the owner pushes, any thread takes. Which kind is looked at first is the policy
///          of ws_find.c; what waited too long goes first (ws_age.h).
/// Aside    A join of a worker moves the tasks that lie above its own to an aside queue of their kind, once.
///          A thread outside lifts them, takes its task, and puts them back (ws_dig.h).
/// Count    pool->kinds_queued is raised before a task is pushed and lowered after it was taken: if it is 0,
///          no queue of that kind holds a task. It only saves looks. Whether a worker may sleep is decided by
///          the queues themselves.
/// Used     While pool->kinds_used is set, searches look for tasks of a kind. A push sets it; a search that
///          looks for old tasks clears it when none has been queued or pushed for a while. So a pool
///          that has used a priority once goes back to its usual path.
///          RESTING --push of a kind--> USED --a while without one: ws_kind_rest--> RESTING
///          Legal: USED though none is queued; RESTING for a moment though one is queued, while the thread
///          that rests looks once more. Illegal: RESTING for longer, or a worker that sleeps because of it.
#ifndef WS_KIND_H
#define WS_KIND_H

#include "ws_grouped.h"
#include "ws_types.h"

/// WS_KIND_HIGH, WS_KIND_LOW, or WS_KIND_NODE + node of the pool; WS_KIND_NONE: the task is of no kind.
typedef uint32_t ws_kind_t;
#define WS_KIND_NONE UINT32_MAX

static inline bool ws_kind_has_node(ws_kind_t kind)
{
  return kind - WS_KIND_NODE < WS_NODES_MAX;
}

struct ws_kind_queues_s {
  uint32_t count; ///< I kinds
  size_t bytes; ///< I of this mapping, cells included
  ws_deque_t deque[]; ///< [kind]; [count + kind]: tasks of that kind that a join has put aside
};

/// @return the queues of a thread's kinds, NULL = it has none
static inline ws_kind_queues_t *ws_kind_queues(const ws_queue_t *queue)
{
  return ws_load_acquire(&queue->kinds); // [edge KIND_QUEUES acquire] their fields
}

/// @return where a join puts tasks of @p kind aside
static inline ws_deque_t *ws_kind_aside(ws_kind_queues_t *queues, ws_kind_t kind)
{
  return &queues->deque[queues->count + kind];
}

/// @brief A task has been taken from a queue of @p kind.
void ws_kind_note_taken(struct ws_pool_s *pool, ws_kind_t kind, ws_task_t *task);

/// @return the kind of a task that is pushed. A priority goes before a node
ws_kind_t ws_kind_of(const struct ws_pool_s *pool, const ws_task_t *task);

// Owner.

/// @brief Room for one more task of @p kind. @param grow  make room if there is none
/// @return NULL = the queue is full, or there is no memory
ws_deque_t *ws_kind_room(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, bool grow);

/// @brief Make the queues now. @return false = there is no memory
/// @threads  the owner, or the creator before it has begun
bool ws_kind_reserve(struct ws_pool_s *pool, ws_queue_t *queue);

/// @brief Push a task into the queue that ws_kind_room() gave.
void ws_kind_push(struct ws_pool_s *pool, ws_deque_t *deque, ws_kind_t kind, const ws_task_t *task,
                  uint64_t now_ns);

/// @brief Begin a wait's mark: tasks that are pushed from now on are the wait's.
void ws_kind_mark(const ws_queue_t *queue, ws_mark_t *mark);

/// @brief Take a task of @p kind that a wait for @p group may run: one of the group, at any depth, or one
/// that was pushed since the wait's mark. A thread that is no worker digs WS_DIG_DEPTH_MAX deep only.
/// @param weak  or one with a weak tag of the group
/// @param hid  out: set to true if other tasks could not be seen for a moment (ws_fill_place)
bool ws_kind_take_of(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, const ws_group_t *group,
                     bool weak, ws_task_t *task, bool *hid);

/// @brief As ws_grouped_take_turn(), and of those that were put aside. The wait's mark takes the place of
/// allowed.from.
bool ws_kind_take_turn(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, ws_allowed_t allowed,
                       bool down, uint32_t depth_max, ws_task_t *task);

/// @brief Take the newest task of any kind.
bool ws_kind_take_any(struct ws_pool_s *pool, ws_queue_t *queue, ws_task_t *task);

/// @brief As ws_queue_sift.
uint64_t ws_kind_sift(struct ws_pool_s *pool, ws_queue_t *queue,
                      bool (*takes)(const ws_task_t *task, void *arg), void *arg);

/// @brief As ws_queue_shrink.
bool ws_kind_shrink(ws_queue_t *queue);

// Any thread.

/// @brief Take a task of @p kind: from the caller's own queue, or steal one.
/// @param victim  out: index of the queue from which it was stolen, -1 = the caller's own
bool ws_kind_take(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, ws_task_t *task, int32_t *victim);

/// @brief Steal the oldest task of @p kind from one queue.
bool ws_kind_steal(struct ws_pool_s *pool, ws_queue_t *queue, ws_kind_t kind, ws_task_t *task);

/// @brief Steal a task of any kind while the queue's root is @p group. @param weak  or a weak tag of it
bool ws_kind_steal_under(struct ws_pool_s *pool, ws_queue_t *queue, const ws_group_t *group, bool weak,
                         ws_task_t *task);

/// @return whether the owner has tasks of any kind queued, about: exact for the owner while no thread steals
bool ws_kind_holds_any(const ws_queue_t *queue);

/// @return how long that task has waited, about; 0 if there is none
uint64_t ws_kind_waited_ns(const ws_queue_t *queue, ws_kind_t kind, uint64_t now_ns);

/// @brief Have searches look for tasks of a kind from now on.
void ws_kind_use(struct ws_pool_s *pool, uint64_t now_ns);

/// @brief The caller searches for a task. If no task of a kind is queued, and none was pushed lately,
/// searches do not look for them any more.
void ws_kind_rest(struct ws_pool_s *pool, uint64_t now_ns);

/// @return tasks in these queues of all threads, about
uint64_t ws_kind_queued(struct ws_pool_s *pool);

/// @brief As ws_queue_trim.
bool ws_kind_trim(ws_queue_t *queue, bool now);

/// @return as ws_queue_steps, ws_queue_grown_bytes
uint64_t ws_kind_steps(const ws_queue_t *queue);
uint64_t ws_kind_bytes(const ws_queue_t *queue);

/// @return as ws_queue_high_water
uint64_t ws_kind_high_water(const ws_queue_t *queue);

/// @brief Unmap the queues. @threads  one, when no other uses the pool any more
void ws_kind_free(ws_queue_t *queue);

#endif
