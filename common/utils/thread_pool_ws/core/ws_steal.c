// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_steal.c
/// ws_steal.h.
#include "ws_steal.h"

#include "../tasks/ws_shared.h"
#include "../tasks/ws_summary.h"
#include "../trace/ws_traced.h"

/// Least time between two looks of a thief at the queue that it stole from last.
#define HASTE_NS 500u

void ws_make_no_haste(const struct ws_pool_s *pool, ws_queue_t *own)
{
  if (own->thief.memo.deque != &pool->tasks.queue[own->thief.victim]->deque)
    return;
  uint64_t now_ns = ws_os_now_ns();
  for (; now_ns - own->thief.looked_ns < HASTE_NS; now_ns = ws_os_now_ns())
    ws_pause();
  own->thief.looked_ns = now_ns;
}

/// Backoff: each try of a thief takes the queue's cache line from the thief that will succeed. A thief that
/// has lost a race waits a random time before its next try. The bound on that time, in pauses, doubles each
/// time that the thief loses again, to twice the greatest number at most. It is divided by four each time
/// that the thief does not lose, but succeeds or finds the queue empty (Metcalfe and Boggs, Ethernet, CACM
/// 1976).
#define BACKOFF_PAUSES_MIN 4u
#define BACKOFF_PAUSES_MAX 4096u
/// Bound on one such wait where pauses take long: pushes rely on a thief that waits.
#define BACKOFF_NS_MAX 200000u
/// A real-time thief that has waited so long offers its CPU to the others of its priority. One of them may
/// hold the task for which a fiber yields, which this thief never gets.
#define OFFER_NS 5000u
/// Pauses between two looks at the clock.
#define BACKOFF_CLOCK_PAUSES 16u

/// Looks at the queue while a thief waits.
#define BACKOFF_LOOKS 8u

/// Wait before a try, for a random time: the longer, the more races the thief has lost lately.
/// @return false = the queue was seen empty
static bool back_off(ws_here_t here, const ws_queue_t *queue)
{
  const uint32_t stream = here.worker ? 2 * here.worker->index + 1 : 0; // different for each worker
  ws_thief_t *thief = &here.queue->thief;
  thief->random = thief->random * 1664525u + 1013904223u + stream * 0x9E3779B9u;
  const uint32_t pauses = (uint32_t)(((uint64_t)thief->random * thief->backoff_pauses) >> 32);
  const uint32_t each = pauses / BACKOFF_LOOKS + 16;
  const uint64_t begun_ns = pauses >= BACKOFF_CLOCK_PAUSES ? ws_os_now_ns() : 0;
  for (uint32_t pause = 1; pause <= pauses; pause++) {
    ws_pause();
    if (pause % each == 0 && ws_deque_size(&queue->deque) == 0)
      return false;
    if (pause % BACKOFF_CLOCK_PAUSES == 0 && ws_os_now_ns() - begun_ns > BACKOFF_NS_MAX)
      break;
  }
  if (begun_ns != 0 && here.worker && here.worker->realtime && ws_os_now_ns() - begun_ns >= OFFER_NS)
    ws_os_yield();
  return true;
}

/// Steal the oldest task. While others are quicker the thief tries again, WS_STEAL_TRIES times at most, and
/// waits before. One that owes completions tries once, and not if it has to wait: its loop makes them when
/// the search finds nothing, and searches once more. @return false = none was taken
static bool steal(ws_here_t here, ws_queue_t *queue, ws_task_t *task)
{
  ws_queue_t *own = here.queue;
  const bool owes = here.worker && here.worker->due.tasks > 0;
  for (uint32_t tries = owes ? 1 : WS_STEAL_TRIES; tries > 0; tries--) {
    if (WS_UNLIKELY(own->thief.backoff_pauses > 0) && (owes || !back_off(here, queue)))
      return false;
    const ws_steal_t result = ws_deque_steal(&queue->deque, &own->thief.memo, task);
    if (WS_LIKELY(result != WS_STEAL_RETRY)) {
      own->thief.backoff_pauses /= 4;
      return result == WS_STEAL_GOT;
    }
    if (own->thief.backoff_pauses < BACKOFF_PAUSES_MAX)
      own->thief.backoff_pauses = 2 * own->thief.backoff_pauses + BACKOFF_PAUSES_MIN;
  }
  return false; // who sleeps after that looks once more before: ws_idle.c, ws_wait.c
}

/// Steal a task from queue @p victim of the pool, unless that is the caller's own. It is the queue that
/// served last then. @return false = it is empty, or others were quicker
static bool steal_from(struct ws_pool_s *pool, ws_here_t here, uint32_t victim, ws_task_t *task)
{
  ws_queue_t *own = here.queue, *queue = pool->tasks.queue[victim];
  if (queue == own || (!ws_memo_holds(&own->thief.memo, &queue->deque) && ws_deque_size(&queue->deque) == 0)
      || !steal(here, queue, task))
    return false;
  own->thief.victim = victim;
  ws_traced_steal(pool, here, (int32_t)victim);
  return true;
}

/// Look in every queue but the one that served last: lanes, then workers, for a worker from near to far.
static bool steal_elsewhere(struct ws_pool_s *pool, ws_here_t here, ws_task_t *task)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = pool->workers; i < queues; i++)
    if (i != here.queue->thief.victim && steal_from(pool, here, i, task))
      return true;
  if (ws_summary_next(&pool->tasks, 0) == pool->workers)
    return false;
  const uint32_t others = here.worker ? pool->workers - 1 : pool->workers;
  for (uint32_t i = 0; i < others; i++) {
    const uint32_t victim = here.worker ? here.worker->victims[i] : i;
    if (victim != here.queue->thief.victim && ws_summary_has(&pool->tasks, victim)
        && steal_from(pool, here, victim, task))
      return true;
  }
  return false;
}

bool ws_steal(ws_search_t *search, ws_task_t *task)
{
  struct ws_pool_s *pool = search->pool;
  const ws_here_t here = search->here;
  ws_queue_t *own = here.queue;
  const uint32_t last = own->thief.victim;
  ws_summary_rest(own);
  // the thread knows of a task there
  if (ws_thief_is_sure(&pool->tasks, own) && steal_from(pool, here, last, task))
    return true;
  if (steal_elsewhere(pool, here, task))
    return true;
  if (ws_shared_count(&pool->tasks) == 0) // else pool-wide tasks, which the search comes to next, would wait
    ws_make_no_haste(pool, own);
  return steal_from(pool, here, last, task);
}

/// A thief's look at another thread's queue.
typedef struct {
  const ws_queue_t *queue;
  const ws_wait_t *wait;
} below_t;

/// @return whether the queue's root is the group that the wait is for. The root is read after the task. If
/// the CAS then finds the task still there, the task lay there under that root: to give its root to a group
/// whose tasks these are not, the owner must empty its deque, which moves top on.
static bool wants_below(const ws_task_t *task, uint64_t index, void *below_arg)
{
  (void)task;
  (void)index;
  const below_t *below = below_arg;
  // [edge ROOT acquire] not older than the task
  return ws_group_is(ws_load_acquire(&below->queue->root), below->wait->group, below->wait->weak);
}

bool ws_steal_below(ws_search_t *search, ws_task_t *task)
{
  struct ws_pool_s *pool = search->pool;
  const ws_wait_t *wait = search->wait;
  const uint32_t queues = ws_queue_count(&pool->tasks);
  search->retry = false;
  for (uint32_t i = ws_summary_next(&pool->tasks, 0); i < queues; i = ws_summary_next(&pool->tasks, i + 1)) {
    ws_queue_t *queue = pool->tasks.queue[i];
    // relaxed: a guess, wants_below() decides
    if (queue == search->here.queue || !ws_group_is(ws_load_relaxed(&queue->root), wait->group, wait->weak))
      continue;
    ws_steal_memo_t memo = {0};
    below_t below = {.queue = queue, .wait = wait};
    const ws_steal_t result = ws_deque_steal_wanted(&queue->deque, &memo, wants_below, &below, task);
    search->retry |= result == WS_STEAL_RETRY;
    if (result != WS_STEAL_GOT)
      continue;
    ws_traced_steal(pool, search->here, (int32_t)i);
    return true;
  }
  return false;
}
