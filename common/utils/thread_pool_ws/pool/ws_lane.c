// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lane.c
/// ws_lane.h: claim, inherit, remember.
#include "ws_lane.h"

#include "../tasks/ws_queue.h"
#include "../wide/ws_inbox.h"

static void remember(ws_self_t *self, const struct ws_pool_s *pool, ws_queue_t *lane)
{
  self->lane[self->next] = (ws_lane_ref_t){.pool_id = pool->id, .lane = lane};
  self->next = (self->next + 1) % WS_LANE_CACHE;
}

/// The lane belongs to the caller from now on: touch its memory on this CPU, but no more of it than a new
/// lane has. An owner that was ended by another thread may have left a grown ring behind.
static void prepare(struct ws_pool_s *pool, ws_queue_t *lane)
{
  lane->depth = 0;
  ws_inbox_give_back(&pool->tasks, lane); // claims of an owner that was ended
  lane->helping.pool = NULL;
  lane->wait = NULL;
  lane->helping.rests_at = 0;
  // The group of the task in which the owner was ended: another may have its address by now. Tasks that the
  // task has left in the queue are still below it.
  if (ws_deque_size(&lane->deque) == 0)
    ws_store_release(&lane->root, NULL); // [edge ROOT release] before the heir's tasks
  ws_queue_shrink(&pool->tasks, lane);
  ws_deque_touch(&lane->deque);
}

/// How often a thread without a lane checks whether it can inherit one.
#define INHERIT_EVERY_NS 10000000u

/// Claim a lane whose owner has ended without freeing it. The owner's id holds the kernel's number of the
/// thread, so lane and thread are read together. Another thread may have that number by now: then the lane
/// stays claimed until that thread has ended, too, or looks for a lane itself.
static ws_queue_t *inherit(struct ws_pool_s *pool)
{
  ws_self_t *self = ws_self();
  const uint64_t id = ws_process_enroll(self);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++) {
    // [edge LANE_OWNER acquire] of the claim; the system call below orders what the owner did after it
    uint64_t owner = ws_load_acquire(&pool->tasks.queue[i]->owner);
    if (owner != 0 && ws_tid_of(owner) != ws_tid_of(id) && ws_os_thread_exists(ws_tid_of(owner)))
      continue;
    if (ws_cas_acq_rel(&pool->tasks.queue[i]->owner, &owner, id)) { // [edge LANE_OWNER acquire]
      prepare(pool, pool->tasks.queue[i]);
      remember(self, pool, pool->tasks.queue[i]);
      return pool->tasks.queue[i];
    }
  }
  return NULL;
}

static ws_queue_t *inherit_now_and_then(struct ws_pool_s *pool)
{
  const uint64_t now_ns = ws_os_now_ns();
  if (now_ns - ws_hint_load(&pool->inherited_ns) < INHERIT_EVERY_NS)
    return NULL;
  ws_hint_store(&pool->inherited_ns, now_ns);
  return inherit(pool);
}

/// Claim a lane that was never claimed. @return NULL = there is none
static ws_queue_t *add(struct ws_pool_s *pool)
{
  ws_self_t *self = ws_self();
  ws_queue_t *lane = NULL;
  pthread_mutex_lock(&pool->lane_lock);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  if (queues < pool->workers + pool->settings.lanes) {
    lane = pool->tasks.queue[queues];
    ws_store_relaxed(&lane->owner, ws_process_enroll(self)); // relaxed: published with the table
    ws_store_release(&pool->tasks.queues, queues + 1); // [edge LANE_TABLE release] the lane's fields
  }
  pthread_mutex_unlock(&pool->lane_lock);
  if (lane) {
    prepare(pool, lane);
    remember(self, pool, lane);
  }
  return lane;
}

ws_queue_t *ws_lane_find(struct ws_pool_s *pool)
{
  if (ws_is_lost(pool)) // a thread of the child has no lane in it: the cache of lanes is empty after a fork
    return NULL;
  ws_self_t *self = ws_self();
  const uint64_t id = ws_process_enroll(self);
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++) {
    if (ws_load_relaxed(&pool->tasks.queue[i]->owner) == id) { // relaxed: this thread wrote it
      remember(self, pool, pool->tasks.queue[i]);
      return pool->tasks.queue[i];
    }
  }
  for (uint32_t i = pool->workers; i < queues; i++) {
    uint64_t nobody = 0;
    if (ws_expected_load(&pool->tasks.queue[i]->owner) == 0
        && ws_cas_acq_rel(&pool->tasks.queue[i]->owner, &nobody, id)) { // [edge LANE_OWNER acquire]
      prepare(pool, pool->tasks.queue[i]);
      remember(self, pool, pool->tasks.queue[i]);
      return pool->tasks.queue[i];
    }
  }
  ws_queue_t *lane = queues < pool->workers + pool->settings.lanes ? add(pool) : NULL;
  return lane ? lane : inherit_now_and_then(pool);
}
