// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_process.c
/// ws_process.h: the list of pools, thread-local state, the count of awake workers.
#include "ws_process.h"

#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "ws_block.h"

ws_process_t ws_process = {.lock = PTHREAD_MUTEX_INITIALIZER, .pools_lock = PTHREAD_MUTEX_INITIALIZER};

_Thread_local ws_self_t ws_self_state;

/// The key's destructor, as a thread ends: its lanes become free for other threads. Tasks queued in them
/// stay, and will be run. Its shelves of blocks end, and its ring of events is given back.
static void free_lanes(void *unused)
{
  (void)unused;
  ws_blocks_end();
  const uint64_t id = ws_self()->id; // 0 = its process was forked since it pushed: it has no lanes
  pthread_mutex_lock(&ws_process.pools_lock);
  for (struct ws_pool_s *pool = id ? ws_process.first : NULL; pool; pool = pool->next) {
    const uint32_t queues = ws_queue_count(&pool->tasks);
    for (uint32_t i = pool->workers; i < queues; i++) {
      if (ws_load_relaxed(&pool->tasks.queue[i]->owner) != id) // relaxed: this thread wrote it
        continue;
      ws_inbox_give_back(&pool->tasks, pool->tasks.queue[i]);
      ws_queue_shrink(&pool->tasks, pool->tasks.queue[i]);
      // [edge LANE_OWNER release] the deque's owner-only fields
      ws_store_release(&pool->tasks.queue[i]->owner, 0);
    }
  }
  pthread_mutex_unlock(&ws_process.pools_lock);
  if (ws_self()->leave)
    ws_self()->leave(ws_self()->ring);
  ws_self_state = (ws_self_t){0}; // a later destructor of this thread may push again: it then enrolls anew
}

/// Around a fork the list of pools stays as it is, so that it is whole in the child.
static void before_fork(void)
{
  ws_os_fork_hold();
  pthread_mutex_lock(&ws_process.pools_lock);
}

static void after_fork(void)
{
  pthread_mutex_unlock(&ws_process.pools_lock);
  ws_os_fork_let();
}

/// The calling thread leaves the parent's pools. The kernel gives it another number in the child, so it
/// enrolls anew. It keeps the tasks and phases that it has counted, its blocks, and the steps that it is in.
static void leave_pools(ws_self_t *self)
{
  const ws_self_t before = *self;
  if (before.worker) // a program that the child starts has timers like those that the pool's creator starts
    ws_os_timer_slack(before.worker->start.slack_ns);
  *self = (ws_self_t){.pushed = before.pushed, .steps = before.steps};
  memcpy(self->phase, before.phase, sizeof(self->phase));
}

/// In the child of a fork there is one thread. ws_process.lock is set up anew: a thread of the parent may
/// have held it, and the child's exit() takes it (delete_key()). The pools of the parent stay in the list:
/// they are reachable, and not freed.
static void in_child(void)
{
  after_fork(); // the thread that took these locks is the one that lives on
  pthread_mutex_init(&ws_process.lock, NULL);
  ws_process.forks++;
  ws_hint_store(&ws_process.awake, 0);
  ws_hint_store(&ws_process.helpers, 0);
  for (struct ws_pool_s *pool = ws_process.first; pool; pool = pool->next)
    ws_store_relaxed(&pool->state, WS_LOST); // relaxed: there is no other thread
  leave_pools(ws_self());
}

bool ws_pool_is_lost(const ws_pool_t *pool)
{
  return pool && ws_is_lost(pool);
}

/// Also when the library is loaded, before the handlers of the program: pthread_atfork() calls those around a
/// fork while no lock is held here.
__attribute__((constructor(101))) void ws_process_watch_forks(void)
{
  pthread_mutex_lock(&ws_process.lock);
  if (!ws_process.watches_forks) // if the system has no memory for it, the next pool tries again
    ws_process.watches_forks = pthread_atfork(before_fork, after_fork, in_child) == 0;
  pthread_mutex_unlock(&ws_process.lock);
}

bool ws_process_see_end(ws_self_t *self)
{
  pthread_mutex_lock(&ws_process.lock);
  if (ws_process.key_state == WS_KEY_UNKNOWN)
    ws_process.key_state = pthread_key_create(&ws_process.key, free_lanes) == 0 ? WS_KEY_MADE : WS_KEY_NONE;
  const bool is_told = ws_process.key_state == WS_KEY_MADE
                       && pthread_setspecific(ws_process.key, self) == 0; // any value but NULL
  pthread_mutex_unlock(&ws_process.lock);
  return is_told;
}

/// The library is unloaded, or the process ends: the caller's shelves of blocks end. The key, and the
/// function that frees lanes, are gone for the threads that live on.
__attribute__((destructor)) static void delete_key(void)
{
  ws_blocks_end();
  pthread_mutex_lock(&ws_process.lock);
  if (ws_process.key_state == WS_KEY_MADE)
    pthread_key_delete(ws_process.key);
  ws_process.key_state = WS_KEY_NONE;
  pthread_mutex_unlock(&ws_process.lock);
}

uint64_t ws_process_enroll(ws_self_t *self)
{
  if (self->id == 0) {
    const uint64_t number = ws_add_relaxed(&ws_process.thread_ids, 1) + 1; // relaxed: only has to be unique
    self->id = number << WS_TID_BITS | (uint32_t)ws_os_tid();
    ws_process_see_end(self);
  }
  return self->id;
}

void ws_process_add(struct ws_pool_s *pool)
{
  pthread_mutex_lock(&ws_process.pools_lock);
  pool->next = ws_process.first;
  ws_process.first = pool;
  pthread_mutex_unlock(&ws_process.pools_lock);
}

void ws_process_remove(struct ws_pool_s *pool)
{
  pthread_mutex_lock(&ws_process.pools_lock);
  struct ws_pool_s **link = &ws_process.first;
  while (*link != pool)
    link = &(*link)->next;
  *link = pool->next;
  pthread_mutex_unlock(&ws_process.pools_lock);
}

bool ws_process_awake_leave(uint32_t limit)
{
  if (ws_hint_add(&ws_process.awake, 0u - 1) > limit)
    return true;
  ws_hint_add(&ws_process.awake, 1);
  return false;
}

void ws_process_hook(const ws_hooks_t *hooks)
{
  ws_store_release(&ws_process.hooks, (void *)(uintptr_t)hooks); // [edge HOOKS release]
}

const ws_hooks_t *ws_process_hooks(void)
{
  return ws_load_acquire(&ws_process.hooks); // [edge HOOKS acquire]
}
