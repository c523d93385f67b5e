// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wake.h
/// Life of a task, step 3: wake. Which sleeping worker is woken, and when. Before: ws_queue.h; after:
/// ws_next.h. How workers sleep without losing a wake: ws_idle.h, PARK.md.
#ifndef WS_WAKE_H
#define WS_WAKE_H

#include "ws_decide.h" // IWYU pragma: export
#include "ws_sleep_state.h" // IWYU pragma: export

// Events that may wake workers. What each wakes, and why, is ws_decide()'s.

/// @brief Tasks of @p kind are queued, and a worker sleeps: if no worker searches, one may be woken; of a
/// burst in the queue of a thread outside more. The guard becomes STANDING as in ws_need_guard(). Call after
/// a fence that follows the publication of the work. If the kind is a node, a worker on that node is
/// preferred.
void ws_post(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind);

/// @brief Make the guard STANDING, if the pool is guarded. Call after a fence that follows the publication of
/// the work; before that, too, where the caller must not lose its CPU between the two.
void ws_need_guard(struct ws_pool_s *pool);

/// @brief The owner of @p queue is done for now, or has pushed many tasks: if the queue is empty, it returns
/// to its first capacity. If a queue has pages to give back to the kernel, have the guard do so once the pool
/// is quiet. Without a guard's thread the caller gives them back.
void ws_give_back(struct ws_pool_s *pool, ws_queue_t *queue);

/// @brief A CPU slot of the pool has become free, or tasks could not be seen for a moment; other
/// threads may have skipped a wake because of that. Look whether a task waits, and wake a worker for it.
void ws_fill_slot(struct ws_pool_s *pool, ws_here_t here);

/// @brief The worker, which searches, has found work, or will wait for a dispatcher: it stops searching. If
/// it was called, or was the last searcher, wake other workers for what else is queued. The last searcher
/// must look, because pushes skipped their wake while it searched. @threads  the worker
void ws_search_found(ws_worker_t *worker);

/// @brief Wake all parked workers, whatever the cap. Call after a fence that follows the reason for it.
void ws_wake_all(struct ws_pool_s *pool);

/// @brief Take the bit of @p worker out of sleepers. If the bit was set, the caller alone ends that sleep,
/// and counts the worker as awake and as searching, on its behalf.
/// @param calls  the caller is another thread, and must give the token if the bit was set
/// @return whether the bit was set
bool ws_claim(struct ws_pool_s *pool, uint32_t worker, bool calls);

/// @brief Decide about an event, count the decision, and wake workers by it. If all that are left would stop
/// the producer, none is woken: unless the event is a hint, the guard becomes STANDING.
/// @param kind  of the task, if it was pushed; else WS_KIND_NORMAL
/// @return how many were woken
uint32_t ws_wake(struct ws_pool_s *pool, ws_here_t here, const ws_snapshot_t *snapshot, ws_kind_t kind);

/// @brief Decide, and count the decision. @p here of the caller; without a queue the pool counts it: of the
/// guard, ws_wake_all(), the begin of a blocking section, and threads without a lane
ws_decision_t ws_ask(struct ws_pool_s *pool, ws_here_t here, const ws_snapshot_t *snapshot);

/// @return whether @p worker is parked and not claimed
bool ws_is_parked(const struct ws_pool_s *pool, uint32_t worker);

/// @return what is known now, but for queued, may_spin, may_stop, called and woken, which are 0
ws_snapshot_t ws_snapshot(const struct ws_pool_s *pool, ws_trigger_t trigger);

// Which workers pushes rely on. A push need not wake a worker while one searches, so a counted worker must
// look at every queue. A counted worker may get no CPU: the guard then stops relying on it
// (PARK.md, "A searcher without a CPU").

/// @brief Count the calling worker in searching, unless it is counted. A worker that the guard has
/// taken off is counted again.
void ws_search_begin(ws_worker_t *worker);

/// @brief The calling worker does not search any more, if it did: its state is @p next.
/// @return the workers of its domain counted before, this one included; 0 if it was not counted
uint32_t ws_search_leave(ws_worker_t *worker, uint32_t next);

/// @brief The worker gets no CPU: take it off the count. The caller must look at the queues afterwards, in
/// the worker's place.
/// @return whether it was counted
/// @threads  the guard
bool ws_search_starved(ws_worker_t *worker);

/// @return whether the worker searches, or was claimed and will. Exact for the worker itself: others change
///         its state only while it sleeps, but for RELIED
static inline bool ws_searches(const ws_worker_t *worker)
{
  return ws_hint_load(&ws_sleep_worker(worker)->state) % WS_STATES == WS_STATE_SEARCHING;
}

/// @return whether a worker searches, or was claimed and will. A caller that relies on it calls it after its
///         fence [PARK_DEKKER]
static inline bool ws_is_searched(const struct ws_pool_s *pool)
{
  uint32_t i = 0;
  do
    if (ws_load_relaxed(&ws_sleep_pool(pool)->searching[i].workers)) // relaxed: that fence
      return true;
  while (++i < pool->tasks.domains);
  return false;
}

/// @return workers that search, about
static inline uint32_t ws_searching(const struct ws_pool_s *pool)
{
  uint32_t sum = 0, i = 0;
  do
    sum += ws_hint_load(&ws_sleep_pool(pool)->searching[i].workers);
  while (++i < pool->tasks.domains);
  return sum;
}

/// @return whether a worker is parked and not claimed. A caller that relies on it calls it after its fence
static inline bool ws_has_sleepers(const struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < pool->tasks.mask_words; i++)
    // relaxed: after the caller's fence [PARK_DEKKER]
    if (ws_load_relaxed(&ws_sleep_pool(pool)->sleepers[i]))
      return true;
  return false;
}

/// The caller pushes, or will: if it is no worker it needs a CPU of its own.
static inline void ws_note_outside(struct ws_pool_s *pool, ws_here_t here)
{
  ws_au32_t *outside = &ws_sleep_pool(pool)->outside;
  if (!here.worker && !ws_hint_load(outside))
    ws_hint_store(outside, 1);
}

#endif
