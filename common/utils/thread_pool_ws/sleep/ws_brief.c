// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_brief.c
/// ws_brief.h.
#include "ws_brief.h"

#include "../prewake/ws_prewake.h"
#include "../tasks/ws_alone.h"
#include "../tasks/ws_queue.h"

/// @return how many tasks of the queue other threads have taken so far
static uint64_t taken(const ws_queue_t *queue)
{
  return ws_own_load(&queue->count.pushed) - ws_own_load(&queue->count.run) - ws_queue_size(queue);
}

/// The first push of a burst that would wake a worker.
static void begin(struct ws_pool_s *pool, ws_queue_t *queue)
{
  ws_alone_t *alone = &queue->alone;
  const uint64_t now_ns = ws_os_now_ns();
  // A worker that the burst before had woken would still spin.
  if (alone->ended_ns != 0 && now_ns - alone->ended_ns < pool->settings.spin_ns_max)
    ws_alone_mistake(&alone->site[alone->before]);
  alone->noted = true;
  alone->at = ws_alone_find(alone, ws_queue_newest_func(queue));
  alone->trial = ++alone->site[alone->at].bursts % WS_ALONE_TRIAL_EVERY == 0;
  alone->begun_ns = now_ns;
  alone->pushed = ws_own_load(&queue->count.pushed) - ws_queue_size(queue);
  alone->taken = taken(queue);
  alone->wakes = ws_own_load(&queue->count.wakes_sent);
}

bool ws_brief_needs_no_wake(struct ws_pool_s *pool, ws_here_t here)
{
  ws_queue_t *queue = here.queue;
  if (here.worker || !queue || queue->depth > 0 || !pool->guarded)
    return false;
  ws_alone_t *alone = &queue->alone;
  if (!alone->noted)
    begin(pool, queue);
  if (alone->trial || !ws_alone_spares(&alone->site[alone->at], ws_queue_size(queue))
      || !ws_prewake_rests(pool))
    return false;
  ws_count(&queue->count.wakes_spared, 1);
  return true;
}

/// Let a burst take the thread I alone, a wake's call c of its time, and the worker w from the call on. With
/// the wake the two are done after (I + c + w) / 2, which is less than I if I > c + w. The worker then has
/// run the share (I + c - w) / 2I of the burst, which is c / (c + w) where I = c + w.
/// @return whether a wake would have gained nothing
static bool is_short(const struct ws_pool_s *pool, const ws_queue_t *queue, uint64_t tasks, uint64_t at_ns)
{
  const ws_alone_t *alone = &queue->alone;
  const uint64_t call_ns = ws_stat_load(&pool->wake_call_ns), waking_ns = ws_stat_load(&pool->waking_ns);
  if (waking_ns == 0)
    return false; // not known
  if (ws_own_load(&queue->count.wakes_sent) == alone->wakes)
    return at_ns - alone->begun_ns <= call_ns + waking_ns;
  return (taken(queue) - alone->taken) * (call_ns + waking_ns) <= tasks * call_ns;
}

void ws_brief_learn(struct ws_pool_s *pool, ws_queue_t *queue)
{
  ws_alone_t *alone = &queue->alone;
  if (queue->depth > 0 || ws_queue_size(queue) > 0)
    return; // the burst goes on
  const uint64_t now_ns = ws_os_now_ns(), tasks = ws_own_load(&queue->count.pushed) - alone->pushed;
  const ws_alone_burst_t burst = {.tasks = tasks, .alone = is_short(pool, queue, tasks, now_ns)};
  alone->noted = false;
  alone->ended_ns = now_ns;
  alone->before = alone->at;
  ws_alone_learn(&alone->site[alone->at], &burst);
}
