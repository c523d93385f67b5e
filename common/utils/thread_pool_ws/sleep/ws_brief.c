// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_brief.c
/// ws_brief.h.
#include "ws_brief.h"

#include "../prewake/ws_prewake.h"

/// @return how many tasks of the queue other threads have taken so far
static uint64_t taken(const ws_queue_t *queue)
{
  return ws_own_load(&queue->count.pushed) - ws_own_load(&queue->count.run) - ws_deque_size(&queue->deque);
}

/// The first push of a burst that would wake a worker.
static void begin(struct ws_pool_s *pool, ws_queue_t *queue)
{
  ws_brief_t *brief = &queue->brief;
  const uint64_t now_ns = ws_os_now_ns();
  // A worker that the burst before had woken would still spin.
  if (brief->ended_ns != 0 && now_ns - brief->ended_ns < pool->settings.spin_ns_max)
    ws_brief_mistake(&brief->site[brief->before]);
  brief->noted = true;
  brief->at = ws_brief_find(brief, ws_deque_newest_func(&queue->deque));
  brief->trial = ++brief->site[brief->at].bursts % WS_BRIEF_TRIAL_EVERY == 0;
  brief->begun_ns = now_ns;
  brief->pushed = ws_own_load(&queue->count.pushed) - ws_deque_size(&queue->deque);
  brief->taken = taken(queue);
  brief->wakes = ws_own_load(&queue->count.wakes_sent);
}

/// @return the longest that a burst takes of which a wake gains nothing: is_short(). 0 = not known
static uint64_t short_ns(const struct ws_pool_s *pool)
{
  const uint64_t waking_ns = ws_stat_load(&pool->waking_ns);
  return waking_ns == 0 ? 0 : ws_stat_load(&pool->wake_call_ns) + waking_ns;
}

/// The burst that was noted is over.
static void learn(ws_queue_t *queue, bool alone)
{
  ws_brief_t *brief = &queue->brief;
  // but for those that wait in the queue
  const uint64_t tasks = ws_own_load(&queue->count.pushed) - ws_deque_size(&queue->deque) - brief->pushed;
  brief->noted = false;
  brief->before = brief->at;
  ws_brief_learn(&brief->site[brief->at], tasks, alone);
}

bool ws_brief_needs_no_wake(struct ws_pool_s *pool, ws_here_t here)
{
  ws_queue_t *queue = here.queue;
  if (here.worker || !queue || queue->depth > 0 || !pool->guarded)
    return false;
  ws_brief_t *brief = &queue->brief;
  // Its thread has not waited for it, and perhaps never will: other threads run its tasks.
  if (brief->noted && taken(queue) != brief->taken && ws_os_now_ns() - brief->begun_ns > short_ns(pool))
    learn(queue, false);
  if (!brief->noted)
    begin(pool, queue);
  if (brief->trial || !ws_brief_spares(&brief->site[brief->at], ws_deque_size(&queue->deque))
      || !ws_prewake_rests(pool))
    return false;
  ws_count(&queue->count.wakes_spared, 1);
  return true;
}

/// Let a burst take the thread I alone, a wake's call c of its time, and the worker w from the call on. With
/// the wake the two are done after (I + c + w) / 2, which is less than I if I > c + w. The worker then has
/// run the share (I + c - w) / 2I of the burst, which is c / (c + w) where I = c + w.
/// @return whether a wake would have gained nothing
static bool is_short(const struct ws_pool_s *pool, const ws_queue_t *queue)
{
  const ws_brief_t *brief = &queue->brief;
  const uint64_t most_ns = short_ns(pool);
  if (most_ns == 0)
    return false;
  if (ws_own_load(&queue->count.wakes_sent) == brief->wakes)
    return brief->ended_ns - brief->begun_ns <= most_ns;
  const uint64_t tasks = ws_own_load(&queue->count.pushed) - brief->pushed;
  return (taken(queue) - brief->taken) * most_ns <= tasks * ws_stat_load(&pool->wake_call_ns);
}

void ws_brief_end(struct ws_pool_s *pool, ws_queue_t *queue)
{
  if (queue->depth > 0 || ws_deque_size(&queue->deque) > 0)
    return; // the burst goes on
  queue->brief.ended_ns = ws_os_now_ns();
  learn(queue, is_short(pool, queue));
}
