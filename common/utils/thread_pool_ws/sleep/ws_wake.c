// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wake.c
/// ws_wake.h: choose, claim, count, token.
#include "ws_wake.h"

#include <limits.h>

#include "../classes/ws_classes.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../prewake/ws_prewake.h"
#include "../tasks/ws_queue.h"
#include "../trace/ws_traced.h"
#include "../wide/ws_wide.h"
#include "ws_budget.h"
#include "ws_place.h"

// Searching workers. The thread that changes RELIED in a worker's state changes the count of its domain, so a
// worker is taken off once: by itself or by the guard.

/// A worker that had no CPU for a time is avoided for this multiple of that time.
#define SHUN_TIMES 8u

/// Count the worker, which begins to search or was claimed. @param called  WS_STATE_CALLED, or 0
static void count(ws_worker_t *worker, uint32_t called)
{
  const uint32_t domain = ws_domain_of(&worker->pool->tasks, worker);
  ws_add_acq_rel(&worker->pool->searching[domain].workers, 1); // [edge SEARCHING acq_rel]
  // [edge SEARCHING release] counted before it can be taken off
  ws_store_release(&worker->state, WS_STATE_SEARCHING + WS_STATE_RELIED + called + WS_STATE_DOMAIN * domain);
}

void ws_search_begin(ws_worker_t *worker)
{
  const uint32_t state = ws_expected_load(&worker->state);
  if (WS_LIKELY(state & WS_STATE_RELIED))
    return;
  if (state % WS_STATES == WS_STATE_SEARCHING) // the guard has taken it off, and it has a CPU again
    ws_search_leave(worker, WS_STATE_RUNNING);
  count(worker, state & WS_STATE_CALLED);
}

/// A worker that searched is taken off. @return the workers of its domain counted before
static uint32_t subtract(struct ws_pool_s *pool, uint32_t state)
{
  return ws_sub_acq_rel(&pool->searching[state / WS_STATE_DOMAIN].workers, 1); // [edge SEARCHING acq_rel]
}

uint32_t ws_search_leave(ws_worker_t *worker, uint32_t next)
{
  struct ws_pool_s *pool = worker->pool;
  const uint32_t state = ws_xchg_acq_rel(&worker->state, next); // [edge SEARCHING acq_rel]
  if (WS_LIKELY(state & WS_STATE_RELIED))
    return subtract(pool, state);
  if (state % WS_STATES == WS_STATE_SEARCHING) { // it had no CPU
    ws_sub_acq_rel(&pool->tasks.starved, 1); // [edge SEARCHING acq_rel]
    const uint64_t now_ns = ws_os_now_ns();
    const uint64_t since_ns = ws_load_relaxed(&worker->watched.starved_ns); // relaxed: after the exchange
    if (now_ns > since_ns)
      ws_hint_store(&worker->watched.shun_until_ns, now_ns + (now_ns - since_ns) * SHUN_TIMES);
  }
  return 0;
}

bool ws_search_starved(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  const uint32_t relied = ws_expected_load(&worker->state);
  if (!(relied & WS_STATE_RELIED))
    return false;
  ws_store_relaxed(&worker->watched.starved_ns, ws_os_now_ns()); // relaxed: published by the CAS
  ws_add_acq_rel(&pool->tasks.starved, 1); // [edge SEARCHING acq_rel] first, so that it is never below zero
  uint32_t state = relied;
  if (!ws_cas_acq_rel(&worker->state, &state, relied - WS_STATE_RELIED)) { // [edge SEARCHING acq_rel]
    ws_sub_acq_rel(&pool->tasks.starved, 1); // [edge SEARCHING acq_rel]
    return false;
  }
  subtract(pool, relied);
  ws_hint_store(&pool->shunned, 1);
  ws_count(&pool->count.starved_searches, 1);
  return true;
}

// To wake.

bool ws_claim(struct ws_pool_s *pool, uint32_t worker, bool calls)
{
  const uint64_t bit = UINT64_C(1) << (worker % 64);
  // [edge PARK_CLAIM acq_rel] one claimer a sleep
  if (!(ws_and_acq_rel(&pool->sleepers[worker / 64], ~bit) & bit))
    return false;
  ws_hint_add(&ws_process.awake, 1);
  count(pool->worker[worker], calls ? WS_STATE_CALLED : 0);
  return true;
}

bool ws_is_parked(const struct ws_pool_s *pool, uint32_t worker)
{
  return (ws_hint_load(&pool->sleepers[worker / 64]) >> (worker % 64)) & 1;
}

void ws_token(ws_worker_t *worker)
{
  ws_store_release(&worker->token, 1); // [edge PARK_TOKEN release] what the claimer did before
  ws_os_futex_wake(&worker->token, 1);
}

/// Of so many wakes that would stop the producer, one looks whether its class has changed, which takes a
/// system call.
#define NOTE_EVERY 16u

/// @return whether no worker may be woken that would stop the producer: the producer runs, and there is a
///         guard to wake that worker later
static bool spares_producer(const struct ws_pool_s *pool)
{
  return pool->pinned > 0 && pool->watched && ws_outside(pool) > 0;
}

/// All workers that could be woken would stop the producer. @return whether to choose once more: its class is
/// such that none would
static bool reconsiders(struct ws_pool_s *pool, ws_here_t here)
{
  const uint64_t before = ws_stat_load(&pool->count.spared_wakes); // two threads at once count once
  ws_stat_store(&pool->count.spared_wakes, before + 1);
  if (!here.queue || here.worker || before % NOTE_EVERY != 0)
    return false;
  ws_place_note_priority(pool);
  return ws_hint_load(&pool->producer_holds) != 0;
}

/// What a wake found.
enum { NONE = UINT32_MAX, SPARED = UINT32_MAX - 1 };

/// Choose a sleeper to wake. Best is one that got a CPU lately, is not on the caller's CPU, is near, and has
/// a timer set. Of several the lowest, so that the same few workers stay warm.
/// @param spares  do not choose a worker that would stop the producer
/// @return its index; NONE; SPARED = there are only such workers
static uint32_t choose_sleeper(struct ws_pool_s *pool, uint32_t cpu, ws_kind_t kind, bool spares)
{
  const bool armed = ws_hint_load(&pool->armed) > 0;
  const uint64_t now_ns = ws_hint_load(&pool->shunned) ? ws_os_now_ns() : 0;
  uint32_t best = NONE, most = 0;
  for (uint32_t word = 0; word < pool->tasks.mask_words; word++) {
    uint64_t mask = ws_load_relaxed(&pool->sleepers[word]); // relaxed: ws_claim decides
    for (; mask; mask &= mask - 1) {
      const uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(mask);
      const ws_worker_t *worker = pool->worker[index];
      if (spares && ws_near_stops_producer(worker)) {
        best = most == 0 ? SPARED : best;
        continue;
      }
      const bool elsewhere = ws_hint_load(&worker->placed.seen_cpu) != cpu;
      const bool rises = armed && ws_hint_load(&worker->alarm_ns) != 0;
      const bool shunned = now_ns < ws_hint_load(&worker->watched.shun_until_ns);
      // to the task's data, or to the thread outside that pushed last
      const bool near =
          kind == WS_KIND_NORMAL ? ws_near_is(pool, worker) : ws_classes_is_near(pool, worker, kind);
      const uint32_t merit = 1 + 8 * !shunned + 4 * elsewhere + 2 * near + rises;
      if (merit > most) {
        most = merit;
        best = index;
      }
      if (merit == (armed ? 16u : 15u))
        return index;
    }
  }
  return best;
}

/// Wake a claimed worker, and take the time of the call.
static void call(struct ws_pool_s *pool, ws_here_t here, ws_worker_t *worker, uint32_t cpu)
{
  const uint64_t called_ns = ws_os_now_ns();
  ws_place_call(worker, here, cpu);
  const bool was_rising = ws_alarm_is_over(worker, called_ns);
  worker->called_ns = called_ns;
  ws_token(worker);
  if (was_rising)
    return; // its timer has woken it: such a call is cheap
  const uint64_t cost_ns = ws_os_now_ns() - called_ns;
  const uint64_t mean_ns = ws_stat_load(&pool->wake_call_ns);
  const uint64_t newest_ns = mean_ns && cost_ns > 8 * mean_ns ? mean_ns : cost_ns; // interrupted
  ws_stat_store(&pool->wake_call_ns, mean_ns ? mean_ns - mean_ns / 16 + newest_ns / 16 : newest_ns);
}

/// @return the worker that was woken; NONE; SPARED
static uint32_t wake_sleeper(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind, bool spares)
{
  const uint32_t cpu = (uint32_t)(ws_os_cpu() + 1);
  ws_place_note(pool, here, cpu);
  for (;;) {
    const uint32_t chosen = choose_sleeper(pool, cpu, kind, spares);
    if (chosen == SPARED && reconsiders(pool, here))
      continue;
    if (chosen >= SPARED)
      return chosen;
    if (!ws_claim(pool, chosen, true))
      continue;
    ws_traced_wake(pool->worker[chosen], here.worker);
    call(pool, here, pool->worker[chosen], cpu);
    if (here.queue)
      ws_count(&here.queue->count.wakes_sent, 1);
    return chosen;
  }
}

bool ws_wake_sleeper(struct ws_pool_s *pool, ws_here_t here, bool any)
{
  return wake_sleeper(pool, here, WS_KIND_NORMAL, !any && spares_producer(pool)) < SPARED;
}

void ws_wake_all(struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < pool->workers; i++) {
    if (!ws_claim(pool, i, true))
      continue;
    ws_traced_wake(pool->worker[i], NULL);
    ws_token(pool->worker[i]);
  }
}

/// A task is queued and a worker sleeps, or pages are loose: make the guard STANDING (ws_guard.c), also while
/// a worker searches.
static void call_guard(struct ws_pool_s *pool)
{
  uint32_t dormant = WS_GUARD_DORMANT;
  if (ws_cas_acq_rel(&pool->guard, &dormant, WS_GUARD_STANDING)) // [edge GUARD_DEKKER acq_rel]
    ws_os_futex_wake(&pool->guard, 1);
}

/// Wake one parked worker, if there is one and the cap on awake workers allows. Call as ws_post.
static bool wake_one(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind)
{
  if (ws_working(pool) >= ws_awake_limit(pool))
    return false;
  const uint32_t woken = wake_sleeper(pool, here, kind, spares_producer(pool));
  // relaxed: after the caller's fence [GUARD_DEKKER]. A pool of one worker needs a guard in this case only
  if (WS_UNLIKELY(woken == SPARED) && ws_load_relaxed(&pool->guard) == WS_GUARD_DORMANT)
    call_guard(pool);
  return woken < SPARED;
}

void ws_need_guard(struct ws_pool_s *pool)
{
  // relaxed: after the caller's fence [GUARD_DEKKER]
  if (WS_UNLIKELY(ws_load_relaxed(&pool->guard) == WS_GUARD_DORMANT) && pool->guarded)
    call_guard(pool);
}

void ws_give_back(struct ws_pool_s *pool, ws_queue_t *queue)
{
  ws_queue_shrink(&pool->tasks, queue);
  // [edge TRIM_DUE acquire] the guard is dormant since its last trim
  if (WS_LIKELY(!ws_load_acquire(&pool->tasks.loose)))
    return;
  if (pool->guarded || pool->watched)
    call_guard(pool);
  else
    ws_queues_trim(&pool->tasks);
}

void ws_post(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind)
{
  if (!ws_is_searched(pool))
    wake_one(pool, here, kind);
  ws_need_guard(pool);
}

void ws_search_found(ws_worker_t *worker)
{
  if (!ws_searches(worker))
    return;
  struct ws_pool_s *pool = worker->pool;
  // A worker that was not counted any more need not look: the guard has looked in its place.
  const bool called = ws_hint_load(&worker->state) & WS_STATE_CALLED; // no other thread changes that now
  const bool last = ws_search_leave(worker, WS_STATE_RUNNING) == 1;
  // The last searcher must look, because pushes relied on it. A woken worker wakes two others: so a wide
  // burst has its workers after a number of steps that grows with the logarithm of their number.
  const uint32_t wakes_max = called ? 2 : last;
  if (wakes_max == 0)
    return;
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the end of the search before the look
  if (!called && ws_is_searched(pool)) // the last of its domain only: another will look
    return;
  const ws_here_t here = {.queue = &worker->queue, .worker = worker};
  for (uint32_t wake = 0; wake < wakes_max && ws_has_sleepers(pool); wake++) {
    const uint32_t searching = ws_searching(pool);
    if (searching == 0 ? !ws_work_visible(&pool->tasks) : ws_queued(&pool->tasks) <= searching)
      break; // as many searchers as tasks
    if (!wake_one(pool, here, WS_KIND_NORMAL))
      break;
  }
}

void ws_fill_place(struct ws_pool_s *pool, ws_here_t here)
{
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the free place, or the moved tasks, before the look
  if (!ws_has_sleepers(pool) || !ws_work_visible(&pool->tasks))
    return;
  if (!ws_is_searched(pool)) // and none is spared: other threads may have queued the task
    wake_one(pool, here, WS_KIND_NORMAL);
  ws_need_guard(pool);
}

void ws_note_idle(struct ws_pool_s *pool)
{
  ws_fence_seq_cst(); // [edge IDLE_DEKKER fence] the run counter before waiters
  if (ws_load_relaxed(&pool->idle.waiters) == 0) // relaxed: after the fence
    return;
  ws_add_release(&pool->idle.times, 1); // [edge IDLE_SEQ release] a waiter that saw the old value looks again
  ws_os_futex_wake(&pool->idle.times, INT_MAX);
}
