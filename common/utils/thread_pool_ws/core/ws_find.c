// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_find.c
/// ws_find.h: the whole scheduling policy, and what a joining thread may run.
#include "ws_find.h"

#include "../pool/ws_group_word.h"
#include "../pool/ws_inbox.h"
#include "../trace/ws_traced.h"
#include "ws_dig.h"

/// A thief that is back for more sooner than this waits until it has passed. Otherwise, with tiny tasks, it
/// takes the queue's lines from the thread that is filling it at every task, and both go at the speed of
/// those lines.
#define HASTE_NS 500u

static void make_no_haste(ws_queue_t *own)
{
  uint64_t now_ns = ws_os_now_ns();
  for (; now_ns - own->looked_ns < HASTE_NS; now_ns = ws_os_now_ns())
    ws_pause();
  own->looked_ns = now_ns;
}

/// Each try of a thief takes the queue's line from the one that will succeed. A thief that was too late waits
/// a random time before its next try: at most so many pauses, which double and add up to the greatest number
/// each time that it is too late again, and become a quarter each time that it is not (Metcalfe and Boggs,
/// Ethernet, CACM 1976).
#define LATE_PAUSES_MIN 4u
#define LATE_PAUSES_MAX 4096u

/// @return a number of [0, bound), another one for each thread and each time
static uint32_t random_below(ws_here_t here, uint32_t bound)
{
  const uint32_t stream = here.worker ? 2 * here.worker->index + 1 : 0;
  here.queue->random = here.queue->random * 1664525u + 1013904223u + stream * 0x9E3779B9u;
  return (uint32_t)(((uint64_t)here.queue->random * bound) >> 32);
}

/// Looks at the queue while it stands aside.
#define LATE_LOOKS 8u

/// The more often it was too late lately, the longer a thief waits before it tries.
/// @return false = there is nothing left to wait for
static bool stand_aside(ws_here_t here, const ws_deque_t *deque)
{
  const uint32_t pauses = random_below(here, here.queue->late_pauses), each = pauses / LATE_LOOKS + 16;
  for (uint32_t pause = 1; pause <= pauses; pause++) {
    ws_pause();
    if (pause % each == 0 && ws_deque_size(deque) == 0)
      return false;
  }
  return true;
}

/// Steal from a deque until it is empty or one task is ours.
static bool steal(ws_here_t here, ws_deque_t *deque, ws_steal_memo_t *memo, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  ws_steal_t result;
  do {
    if (own && WS_UNLIKELY(own->late_pauses > 0) && !stand_aside(here, deque))
      return false;
    result = ws_deque_steal(deque, memo, task);
    if (own && WS_UNLIKELY(result == WS_STEAL_LOST && own->late_pauses < LATE_PAUSES_MAX))
      own->late_pauses = 2 * own->late_pauses + LATE_PAUSES_MIN;
  } while (result == WS_STEAL_LOST); // another thread got one: the pool as a whole moves
  if (own)
    own->late_pauses /= 4;
  return result == WS_STEAL_GOT;
}

static bool steal_from(struct ws_pool_s *pool, ws_here_t here, uint32_t victim, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  ws_queue_t *queue = pool->queue[victim];
  if (queue == own || (!ws_memo_holds(&own->memo, &queue->deque) && ws_deque_size(&queue->deque) == 0)
      || !steal(here, &queue->deque, &own->memo, task))
    return false;
  own->victim = victim;
  ws_traced_steal(pool, here, (int32_t)victim);
  return true;
}

/// Look in every queue but the one that served last.
static bool steal_elsewhere(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = pool->workers; i < queues; i++)
    if (i != here.queue->victim && steal_from(pool, here, i, task))
      return true;
  const uint32_t others = here.worker ? pool->workers - 1 : pool->workers;
  for (uint32_t i = 0; i < others; i++) {
    const uint32_t victim = here.worker ? here.worker->victims[i] : i;
    if (victim != here.queue->victim && steal_from(pool, here, victim, task))
      return true;
  }
  return false;
}

static bool steal_aside(struct ws_pool_s *pool, ws_task_t *task)
{
  const ws_here_t nobody = {0};
  ws_steal_memo_t memo = {0};
  if (!ws_load_relaxed(&pool->aside_used)) // relaxed: a hint; ws_park looks after a fence
    return false;
  for (uint32_t i = 0; i < pool->workers; i++)
    if (ws_deque_size(&pool->worker[i].aside) > 0 && steal(nobody, &pool->worker[i].aside, &memo, task))
      return true;
  return false;
}

/// Take what lies in nobody's queue. @return whether there was any
static bool steal_stray(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  if (steal_aside(pool, task))
    ws_traced_steal(pool, here, WS_VICTIM_ASIDE);
  else if (ws_shared_take(&pool->shared, task))
    ws_traced_steal(pool, here, WS_VICTIM_SHARED);
  // relaxed: the guard has written it before it had a worker woken
  else if (WS_UNLIKELY(ws_load_relaxed(&pool->starved) > 0) && ws_inbox_take_starved(pool, task))
    ws_traced_steal(pool, here, WS_VICTIM_INBOX);
  else
    return false;
  return true;
}

static bool steal_any(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint32_t victim = here.queue->victim;
  const ws_deque_t *deque = &pool->queue[victim]->deque;
  if (ws_memo_holds(&here.queue->memo, deque) && steal_from(pool, here, victim, task))
    return true;
  if (steal_elsewhere(pool, here, task))
    return true;
  if (here.queue->memo.deque == deque)
    make_no_haste(here.queue);
  return steal_from(pool, here, victim, task) || steal_stray(pool, here, task);
}

/// From the own queue. The tasks that pushed what lies there have ended, or will not join it here.
static bool take_own(const struct ws_pool_s *pool, ws_deque_t *deque, ws_task_t *task)
{
  if (WS_LIKELY(!pool->settings.fifo))
    return ws_deque_take(deque, task);
  const ws_here_t nobody = {0};
  ws_steal_memo_t memo = {0};
  return ws_deque_size(deque) > 0 && steal(nobody, deque, &memo, task); // mostly empty: no fence of a steal
}

bool ws_find(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  if (take_own(pool, &here.queue->deque, task))
    return true;
  if (!steal_any(pool, here, task))
    return false;
  ws_count(&here.queue->count.stolen, 1);
  return true;
}

bool ws_find_near(struct ws_pool_s *pool, ws_here_t here)
{
  const ws_queue_t *own = here.queue;
  if (ws_deque_size(&own->deque) > 0)
    return true;
  // a thief that stands aside first does not come back at once
  return own->late_pauses == 0 && ws_memo_holds(&own->memo, &pool->queue[own->victim]->deque);
}

uint64_t ws_find_mark(ws_here_t here)
{
  return ws_load_relaxed(&here.queue->deque.bottom); // relaxed: only the owner writes it
}

static bool find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  ws_deque_t *deque = &here.queue->deque;
  const bool weak = ws_takes_weak(here);
  uint64_t index;
  if (ws_deque_peek(deque, true, task) && ws_group_is(task->group, group, weak) && ws_deque_take(deque, task))
    return true;
  ws_steal_memo_t memo = {0};
  while (ws_deque_steal_peek(deque, &memo, task, &index) && ws_group_is(task->group, group, weak))
    if (ws_deque_steal_commit(deque, index))
      return true;
  if ((int64_t)(ws_find_mark(here) - here.queue->mark->index) > 0 && ws_deque_take(deque, task))
    return true;
  // Nothing there was pushed since the mark, and it must not look so after.
  const bool found = ws_dig(pool, here, group, task);
  here.queue->mark->index = ws_find_mark(here);
  return found;
}

bool ws_find_own(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const bool found = find_own(pool, here, group, task);
  const uint64_t bottom = ws_find_mark(here);
  if ((int64_t)(bottom - here.queue->mark->index) < 0)
    here.queue->mark->index = bottom;
  return found;
}

bool ws_find_below(struct ws_pool_s *pool, ws_here_t here, const ws_group_t *group, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(pool);
  const bool weak = ws_takes_weak(here);
  for (uint32_t i = 0; i < queues; i++) {
    ws_queue_t *queue = pool->queue[i];
    uint64_t index;
    ws_steal_memo_t memo = {0};
    // relaxed: looked at again below
    if (queue == here.queue || !ws_group_is(ws_load_relaxed(&queue->root), group, weak))
      continue;
    // The task lay there while the root was this group, if the root is read after the task and the CAS finds
    // it still there: to change its root the owner must empty its deque, which moves top on.
    while (ws_deque_steal_peek(&queue->deque, &memo, task, &index)) {
      // [edge ROOT acquire] not older than the task
      if (!ws_group_is(ws_load_acquire(&queue->root), group, weak))
        break;
      if (!ws_deque_steal_commit(&queue->deque, index))
        continue;
      ws_count(&here.queue->count.stolen, 1);
      ws_traced_steal(pool, here, (int32_t)i);
      return true;
    }
  }
  return false;
}
