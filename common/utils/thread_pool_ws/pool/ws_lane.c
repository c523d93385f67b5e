// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lane.c
/// ws_lane.h: take, inherit, remember.
#include "ws_lane.h"

#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"

/// Put the lane into the thread's cache, in place of the oldest entry. Tasks that the thread has begun in the
/// pool without the lane are in the lane's depth from now on. @return @p lane
static ws_queue_t *remember(ws_self_t *self, const struct ws_pool_s *pool, ws_queue_t *lane)
{
  for (ws_laneless_t *task = self->laneless; task; task = task->outer)
    if (task->pool == pool->id && !task->lane) {
      task->lane = lane;
      lane->depth++;
    }
  self->lane[self->next] = (ws_lane_ref_t){.pool_id = pool->id, .lane = lane};
  self->next = (self->next + 1) % WS_LANE_CACHE;
  return lane;
}

/// The lane belongs to the caller from now on. Undo what an owner that was ended inside a task or a push has
/// left. Touch the memory of an empty lane on this CPU: after the shrink, so no more than a new lane has.
/// @return @p lane
static ws_queue_t *take_over(ws_self_t *self, struct ws_pool_s *pool, ws_queue_t *lane)
{
  lane->depth = 0;
  ws_store_relaxed(&lane->in_push, 0); // relaxed: of an owner that was ended
  ws_inbox_give_back(&pool->tasks, lane); // reserved by an owner that was ended
  lane->helping = (ws_helping_t){0};
  lane->wait = NULL;
  // The group of the task in which the owner was ended: another may have its address by now. Tasks that the
  // task has left in the queue are still below it.
  if (ws_deque_size(&lane->deque) == 0)
    ws_store_release(&lane->root, NULL); // [edge ROOT release] before the heir's tasks
  ws_queue_shrink(&pool->tasks, lane);
  ws_deque_touch(&lane->deque);
  return remember(self, pool, lane);
}

/// The id of an owner holds the kernel's number of the thread, so lane and thread are read together. Another
/// thread may have that number by now: then the lane stays taken until that thread has ended, too, or looks
/// for a lane itself. @param id  of the caller
static bool has_ended(uint64_t owner, uint64_t id)
{
  return ws_tid_of(owner) == ws_tid_of(id) || !ws_os_thread_exists(ws_tid_of(owner));
}

/// Take a lane without an owner, with @p ended also one whose owner has ended without freeing it.
/// @return NULL = there is none
static ws_queue_t *take_lane(ws_self_t *self, struct ws_pool_s *pool, bool ended)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++) {
    ws_queue_t *lane = pool->tasks.queue[i];
    // [edge LANE_OWNER acquire] of the take; has_ended()'s system call orders what the owner did after it
    uint64_t owner = ws_load_acquire(&lane->owner);
    if (owner != 0 && !(ended && has_ended(owner, self->id)))
      continue;
    if (ws_cas_acq_rel(&lane->owner, &owner, self->id)) // [edge LANE_OWNER acquire]
      return take_over(self, pool, lane);
  }
  return NULL;
}

/// Threads without a lane check at most so often, all of a pool together, whether one can be inherited.
#define INHERIT_EVERY_NS 10000000u

/// Take a lane, also one whose owner has ended without freeing it. @return NULL = there is none, or a thread
/// has looked less than INHERIT_EVERY_NS ago
static ws_queue_t *inherit(ws_self_t *self, struct ws_pool_s *pool)
{
  const uint64_t now_ns = ws_os_now_ns();
  if (now_ns - ws_hint_load(&pool->inherited_ns) < INHERIT_EVERY_NS)
    return NULL;
  ws_hint_store(&pool->inherited_ns, now_ns);
  return take_lane(self, pool, true);
}

/// Take a lane that no thread has had. @return NULL = there is none
static ws_queue_t *new_lane(ws_self_t *self, struct ws_pool_s *pool)
{
  ws_queue_t *lane = NULL;
  pthread_mutex_lock(&pool->lane_lock);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  if (queues < pool->workers + pool->settings.lanes) {
    lane = pool->tasks.queue[queues];
    ws_store_relaxed(&lane->owner, self->id); // relaxed: published with the table
    ws_store_release(&pool->tasks.queues, queues + 1); // [edge LANE_TABLE release] the lane's fields
  }
  pthread_mutex_unlock(&pool->lane_lock);
  return lane ? take_over(self, pool, lane) : NULL;
}

ws_queue_t *ws_lane_find(struct ws_pool_s *pool)
{
  if (ws_is_lost(pool)) // a thread of the child has no lane in it: the cache of lanes is empty after a fork
    return NULL;
  ws_self_t *self = ws_self();
  const uint64_t id = ws_process_enroll(self);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++)
    if (ws_load_relaxed(&pool->tasks.queue[i]->owner) == id) // relaxed: this thread wrote it
      return remember(self, pool, pool->tasks.queue[i]);
  ws_queue_t *lane = take_lane(self, pool, false);
  if (!lane && queues < pool->workers + pool->settings.lanes)
    lane = new_lane(self, pool);
  return lane ? lane : inherit(self, pool);
}
