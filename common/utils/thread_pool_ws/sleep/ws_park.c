// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_park.c
/// ws_park.h: announce, fence, look again, sleep; claim, count, token.
#include "ws_park.h"

#include <errno.h>

#include "../pool/ws_inbox.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../prewake/ws_prewake.h"
#include "../trace/ws_traced.h"
#include "ws_hot.h"
#include "ws_place.h"
#include "ws_search.h"

bool ws_work_visible(struct ws_pool_s *pool)
{
  for (uint32_t i = ws_queue_count(pool); i-- > 0;) // lanes first: they hold the bursts
    if (ws_deque_size(&pool->queue[i]->deque) > 0)
      return true;
  if (ws_load_relaxed(&pool->aside_used)) // relaxed: after the caller's fence [PARK_DEKKER]
    for (uint32_t i = 0; i < pool->workers; i++)
      if (ws_deque_size(&pool->worker[i].aside) > 0)
        return true;
  if (WS_UNLIKELY(ws_load_relaxed(&pool->starved) > 0) && ws_inbox_count(pool, true) > 0) // relaxed: as above
    return true;
  return ws_shared_visible(&pool->shared);
}

uint64_t ws_queued(struct ws_pool_s *pool)
{
  uint64_t queued = ws_shared_size(&pool->shared) + ws_inbox_count(pool, true);
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues; i++)
    queued += ws_deque_size(&pool->queue[i]->deque);
  for (uint32_t i = 0; i < pool->workers; i++)
    queued += ws_deque_size(&pool->worker[i].aside);
  return queued;
}

uint32_t ws_awake_limit(const struct ws_pool_s *pool)
{
  if (!pool->capped || ws_load_relaxed(&pool->lifted)) // relaxed: a preference
    return pool->workers;
  const uint32_t helpers = ws_load_relaxed(&pool->helpers); // relaxed: a preference
  const uint32_t hinted = ws_load_relaxed(&pool->outside); // relaxed: a preference
  const uint32_t outside = helpers > hinted ? helpers : hinted;
  const uint32_t limit = pool->cpus > outside ? pool->cpus - outside : 1;
  return limit < pool->worker_cpus ? limit : pool->worker_cpus;
}

bool ws_may_spin(const struct ws_pool_s *pool)
{
  return ws_may_spin_beside(pool, 0);
}

uint32_t ws_spin_limit(const struct ws_pool_s *pool)
{
  const uint32_t others = ws_process_helpers() > 1 ? ws_process_helpers() : 1;
  const uint32_t cpus = ws_load_relaxed(&pool->spin_cpus); // relaxed: a budget
  return cpus > others ? cpus - others : 0;
}

bool ws_may_spin_beside(const struct ws_pool_s *pool, uint32_t more)
{
  return pool->cpus > 1 && ws_process_awake() + more <= ws_spin_limit(pool)
         && ws_load_relaxed(&pool->state) == WS_RUNNING; // relaxed: looked at again before sleep
}

uint32_t ws_working(const struct ws_pool_s *pool)
{
  const uint32_t awake = ws_awake(pool);
  const uint32_t blocked = ws_load_relaxed(&pool->blocked); // relaxed: a preference
  const uint32_t away = blocked + ws_load_relaxed(&pool->starved); // relaxed: a preference
  return awake > away ? awake - away : 0;
}

/// Take a worker's bit out of sleepers. @return whether it was there: then the caller owns that sleep's end
static bool take_bit(struct ws_pool_s *pool, uint32_t worker)
{
  const uint64_t bit = UINT64_C(1) << (worker % 64);
  // [edge PARK_CLAIM acq_rel] one claimer a sleep
  if (!(ws_and_acq_rel(&pool->sleepers[worker / 64], ~bit) & bit))
    return false;
  ws_process_awake_add(1);
  return true;
}

bool ws_claim(struct ws_pool_s *pool, uint32_t worker)
{
  if (!take_bit(pool, worker))
    return false;
  ws_search_claimed(&pool->worker[worker]);
  return true;
}

bool ws_is_parked(const struct ws_pool_s *pool, uint32_t worker)
{
  return (ws_load_relaxed(&pool->sleepers[worker / 64]) >> (worker % 64)) & 1; // relaxed: a preference
}

void ws_token(ws_worker_t *worker)
{
  ws_store_release(&worker->token, 1); // [edge PARK_TOKEN release] what the claimer did before
  ws_os_futex_wake(&worker->token, 1);
}

/// A sleeper to wake: best one that got a CPU lately, is not on the caller's CPU, and would get up by itself
/// soon; the lowest of several, so that the same few workers stay warm. @return its index, or UINT32_MAX
static uint32_t choose_sleeper(struct ws_pool_s *pool, uint32_t cpu)
{
  const bool armed = ws_load_relaxed(&pool->armed) > 0; // relaxed: a preference
  const uint64_t now_ns = ws_load_relaxed(&pool->shunned) ? ws_os_now_ns() : 0; // relaxed: a preference
  uint32_t best = UINT32_MAX, most = 0;
  for (uint32_t word = 0; word < pool->mask_words; word++) {
    uint64_t mask = ws_load_relaxed(&pool->sleepers[word]); // relaxed: ws_claim decides
    for (; mask; mask &= mask - 1) {
      const uint32_t index = word * 64 + (uint32_t)__builtin_ctzll(mask);
      const ws_worker_t *worker = &pool->worker[index];
      const bool elsewhere = ws_load_relaxed(&worker->seen_cpu) != cpu; // relaxed: a preference
      const bool rises = armed && ws_load_relaxed(&worker->rise.alarm_ns) != 0; // relaxed: a preference
      const bool shunned = now_ns != 0 && ws_search_is_shunned(worker, now_ns);
      const uint32_t merit = 1 + 8 * !shunned + 4 * elsewhere + 2 * ws_near_is(pool, worker) + rises;
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
static void call(struct ws_pool_s *pool, ws_worker_t *worker)
{
  const uint64_t called_ns = ws_os_now_ns();
  const bool was_rising = ws_prewake_is_rising(worker, called_ns);
  worker->rise.called_ns = called_ns;
  ws_token(worker);
  if (was_rising)
    return; // its timer has woken it: the call was cheap
  const uint64_t cost_ns = ws_os_now_ns() - called_ns;
  const uint64_t mean_ns = ws_load_relaxed(&pool->wake_call_ns); // relaxed: a statistic
  const uint64_t newest_ns = mean_ns && cost_ns > 8 * mean_ns ? mean_ns : cost_ns; // interrupted
  // relaxed: a statistic
  ws_store_relaxed(&pool->wake_call_ns, mean_ns ? mean_ns - mean_ns / 16 + newest_ns / 16 : newest_ns);
}

bool ws_wake_sleeper(struct ws_pool_s *pool, ws_here_t here)
{
  const uint32_t cpu = (uint32_t)(ws_os_cpu() + 1);
  ws_place_note(pool, here, cpu);
  for (;;) {
    const uint32_t chosen = choose_sleeper(pool, cpu);
    if (chosen == UINT32_MAX)
      return false;
    if (!ws_claim(pool, chosen))
      continue;
    ws_traced_wake(&pool->worker[chosen], here.worker);
    call(pool, &pool->worker[chosen]);
    if (here.queue)
      ws_count(&here.queue->count.wakes_sent, 1);
    return true;
  }
}

bool ws_wake_one(struct ws_pool_s *pool, ws_here_t here)
{
  return ws_working(pool) < ws_awake_limit(pool) && ws_wake_sleeper(pool, here);
}

/// A task is queued and a worker sleeps: have the guard stand (ws_guard.c), also while somebody searches.
static void call_guard(struct ws_pool_s *pool)
{
  uint32_t dormant = WS_GUARD_DORMANT;
  if (ws_cas_acq_rel(&pool->guard, &dormant, WS_GUARD_STANDING)) // [edge GUARD_DEKKER acq_rel]
    ws_os_futex_wake(&pool->guard, 1);
}

void ws_need_guard(struct ws_pool_s *pool)
{
  // relaxed: after the caller's fence [GUARD_DEKKER]
  if (WS_UNLIKELY(ws_load_relaxed(&pool->guard) == WS_GUARD_DORMANT) && pool->guarded)
    call_guard(pool);
}

void ws_post(struct ws_pool_s *pool, ws_here_t here)
{
  if (!ws_has_sleepers(pool))
    return;
  if (ws_load_relaxed(&pool->searching) == 0) // relaxed: after the caller's fence [PARK_DEKKER]
    ws_wake_one(pool, here);
  ws_need_guard(pool);
}

void ws_search_found(ws_worker_t *worker)
{
  if (!worker->searching)
    return;
  struct ws_pool_s *pool = worker->pool;
  // A worker that was not counted any more owes nothing: the guard has looked in its place.
  const bool last = ws_search_leave(worker) == 1;
  // The last searcher must look, because others relied on it. A woken one may: each wakes two, so that a wide
  // burst has its workers after a logarithm of wakes, not after their number.
  const uint32_t wakes_max = worker->claimed ? 2 : last;
  worker->claimed = false;
  if (wakes_max == 0)
    return;
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the end of the search before the look
  const ws_here_t here = {.queue = &worker->queue, .worker = worker};
  for (uint32_t wake = 0; wake < wakes_max && ws_has_sleepers(pool); wake++) {
    const uint32_t searching = ws_load_relaxed(&pool->searching); // relaxed: after the fence
    if (searching == 0 ? !ws_work_visible(pool) : ws_queued(pool) <= searching)
      break; // as many are on their way as there are tasks
    if (!ws_wake_one(pool, here))
      break;
  }
}

/// A queue that shrinks more often wakes nobody for it: the next worker that parks will find its pages.
#define GIVE_BACK_EVERY_NS 10000000u

/// Some queue has pages to give back. @param now  whether to give them back
static bool trim_due(struct ws_pool_s *pool, bool now)
{
  bool due = false;
  const uint32_t queues = ws_queue_count(pool);
  for (uint32_t i = 0; i < queues + pool->workers; i++) {
    ws_deque_t *deque = i < queues ? &pool->queue[i]->deque : &pool->worker[i - queues].aside;
    if (ws_load_relaxed(&deque->loose) != WS_LOOSE_PAGES) // relaxed: ws_deque_trim decides
      continue;
    due = true;
    if (now)
      ws_deque_trim(deque);
  }
  return due;
}

/// @return the sooner of two times, of which 0 is never
static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
  return a_ns == 0 || (b_ns != 0 && b_ns < a_ns) ? b_ns : a_ns;
}

/// When a sleep ends by itself.
typedef struct {
  uint64_t rise_ns; ///< to be awake for the next burst; 0 = not at all
  uint64_t trim_ns; ///< to give pages back; 0 = not at all
  uint64_t retry_ns; ///< to try to spin again (ws_hot.h); 0 = not at all
} alarms_t;

/// How a sleep has ended.
typedef enum { END_WORK, END_TOKEN, END_RISE, END_RETRY, END_TRIM } end_t;

/// Announced: sleep until the token comes, or until an alarm. Where no token comes, the worker has taken its
/// bit back.
static end_t sleep_for_token(ws_worker_t *worker, alarms_t *alarms)
{
  struct ws_pool_s *pool = worker->pool;
  while (ws_load_acquire(&worker->token) == 0) { // [edge PARK_TOKEN acquire]
    const uint64_t until_ns = sooner(sooner(alarms->rise_ns, alarms->retry_ns), alarms->trim_ns);
    if (ws_os_futex_wait_until(&worker->token, 0, until_ns) != -ETIMEDOUT)
      continue;
    const bool trims = until_ns == alarms->trim_ns, retries = until_ns == alarms->retry_ns;
    *(trims ? &alarms->trim_ns : retries ? &alarms->retry_ns : &alarms->rise_ns) = 0;
    if (!ws_is_parked(pool, worker->index))
      continue; // somebody has claimed it, and the token is under way
    if (trims && take_bit(pool, worker->index))
      return END_TRIM;
    if (trims)
      continue;
    if (ws_prewake_may_rise(worker)) {
      if (ws_claim(pool, worker->index))
        return retries ? END_RETRY : END_RISE;
    } else if (retries) {
      alarms->retry_ns = ws_hot_later_ns(pool);
    } else {
      ws_prewake_disarm(worker);
    }
  }
  return END_TOKEN;
}

/// Announce the sleep, look once more, sleep.
static end_t lie_down(ws_worker_t *worker, alarms_t *alarms)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t bit = UINT64_C(1) << (worker->index % 64);
  ws_or_acq_rel(&pool->sleepers[worker->index / 64], bit); // [edge PARK_CLAIM acq_rel] the sleep begins
  ws_process_awake_sub(!worker->discounted);
  worker->discounted = false;
  // [edge PARK_DEKKER fence] sleepers and searching before the queues, the state, the mode and loose pages
  ws_fence_seq_cst();
  if (ws_work_visible(pool) || ws_load_relaxed(&pool->state) == WS_STOPPED) { // relaxed: after the fence
    if (ws_claim(pool, worker->index))
      return END_WORK;
  } else {
    ws_count(&worker->queue.count.parks, 1);
  }
  if (trim_due(pool, false))
    alarms->trim_ns = ws_os_now_ns() + WS_TRIM_AFTER_NS;
  alarms->retry_ns = ws_hot_retry_ns(worker);
  return sleep_for_token(worker, alarms);
}

/// Ended by the token, or by an alarm.
static void get_up(ws_worker_t *worker, end_t end)
{
  static const ws_unpark_t by[] = {WS_UNPARK_AWAKE, WS_UNPARK_CALLED, WS_UNPARK_TIMER,
                                    WS_UNPARK_TIMER};
  ws_place_return(worker);
  worker->searching = true; // counted: by its claimer, or as it claimed itself
  worker->claimed = end == END_TOKEN;
  ws_traced_unpark(worker, by[end]);
  if (end != END_WORK)
    // relaxed: the next token comes only after the bit is set again [PARK_CLAIM]
    ws_store_relaxed(&worker->token, 0);
  ws_prewake_woken(worker, end == END_RISE ? WS_WAKE_TIMER : WS_WAKE_PUSH);
}

void ws_park(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  // Before all that takes time: pushes must not rely on a worker that does not look. It looks again below.
  if (worker->searching)
    ws_search_leave(worker);
  ws_deque_shrink(&worker->queue.deque);
  ws_deque_shrink(&worker->aside);
  ws_place_leave(worker);
  alarms_t alarms = {.rise_ns = ws_prewake_plan(worker)};
  if (alarms.rise_ns != 0)
    ws_traced_plan(worker, &worker->rise.plan);
  ws_traced_park(worker);
  end_t end;
  while ((end = lie_down(worker, &alarms)) == END_TRIM)
    trim_due(pool, true); // awake, and in nobody's way: no push claims it meanwhile
  get_up(worker, end);
}

void ws_give_back(struct ws_pool_s *pool, ws_here_t here)
{
  if (!ws_deque_shrink(&here.queue->deque))
    return;
  const uint64_t now_ns = ws_os_now_ns();
  // else the burst that follows will need it again
  if (now_ns - here.queue->gave_back_ns > GIVE_BACK_EVERY_NS) {
    // [edge PARK_DEKKER fence] the loose pages before the sleepers: else a worker that parks at this moment
    // could miss the pages, this thread the worker, and the memory would stay until a worker parks next
    ws_fence_seq_cst();
    ws_wake_sleeper(pool, here); // all may be parked: it finds the loose pages when it parks again
  }
  here.queue->gave_back_ns = now_ns;
}

void ws_fill_place(struct ws_pool_s *pool, ws_here_t here)
{
  ws_fence_seq_cst(); // [edge PARK_DEKKER fence] the free place, or the moved tasks, before the look
  if (ws_has_sleepers(pool) && ws_work_visible(pool))
    ws_post(pool, here);
}
