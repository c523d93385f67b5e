// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_park.c
/// ws_idle.h: set the bit in sleepers, fence, look again, sleep.
#include "ws_idle.h"

#include <errno.h>

#include "../pool/ws_near.h"
#include "../pool/ws_observer.h"
#include "../pool/ws_process.h"
#include "../pool/ws_types.h"
#include "../prewake/ws_prewake.h"
#include "../tasks/ws_places.h"
#include "../trace/ws_traced.h"
#include "../wide/ws_inbox.h"
#include "ws_budget.h"
#include "ws_guard.h"
#include "ws_place.h"
#include "ws_wake.h"

/// @return the earlier of two times; 0 = never
static uint64_t sooner(uint64_t a_ns, uint64_t b_ns)
{
  return a_ns == 0 || (b_ns != 0 && b_ns < a_ns) ? b_ns : a_ns;
}

/// How a sleep has ended.
typedef enum { END_WORK, END_TOKEN, END_RISE, END_RETRY } end_t;

/// The worker's bit is set: sleep until the token comes, or until a timer. On return without the token, the
/// worker has taken its bit back.
/// @param rise_ns  when to be awake for the next burst; 0 = no timer
static end_t sleep_for_token(ws_worker_t *worker, uint64_t rise_ns)
{
  struct ws_pool_s *pool = worker->pool;
  uint64_t retry_ns = ws_hot_retry_ns(worker);
  while (ws_load_acquire(&worker->token) == 0) { // [edge PARK_TOKEN acquire]
    const uint64_t until_ns = sooner(rise_ns, retry_ns);
    if (ws_os_futex_wait_until(&worker->token, 0, until_ns) != -ETIMEDOUT)
      continue;
    const bool retries = until_ns == retry_ns;
    *(retries ? &retry_ns : &rise_ns) = 0;
    if (!ws_is_parked(pool, worker->index))
      continue; // another thread has claimed it, and the token is under way
    if (ws_may_rise(pool) && !ws_near_stops_producer(worker)) {
      if (ws_claim(pool, worker->index))
        return retries ? END_RETRY : END_RISE;
    } else if (retries) {
      retry_ns = ws_hot_later_ns(pool);
    } else {
      ws_prewake_disarm(worker);
    }
  }
  return END_TOKEN;
}

/// Set the bit in sleepers, look once more, sleep.
static end_t set_bit_and_sleep(ws_worker_t *worker, uint64_t rise_ns)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t bit = UINT64_C(1) << (worker->index % 64);
  ws_or_acq_rel(&pool->sleepers[worker->index / 64], bit); // [edge PARK_CLAIM acq_rel] the sleep begins
  ws_process_awake_sub(!worker->discounted);
  worker->discounted = false;
  // [edge PARK_DEKKER fence] sleepers and searching before the queues, the state and the mode
  ws_fence_seq_cst();
  if (ws_work_visible(&pool->tasks) || ws_inbox_is_full(&worker->inbox) // it has left it
      || ws_load_relaxed(&pool->state) == WS_STOPPED) { // relaxed: after the fence
    if (ws_claim(pool, worker->index))
      return END_WORK;
  } else {
    ws_count(&worker->queue.count.parks, 1);
  }
  return sleep_for_token(worker, rise_ns);
}

/// The sleep was ended by the token, or by a timer.
static void after_sleep(ws_worker_t *worker, end_t end)
{
  static const ws_unpark_t by[] = {WS_UNPARK_AWAKE, WS_UNPARK_CALLED, WS_UNPARK_TIMER, WS_UNPARK_TIMER};
  const bool stops_caller = end == END_TOKEN && (uint32_t)(ws_os_cpu() + 1) == worker->called_cpu;
  ws_count(&worker->queue.count.stopped_callers, stops_caller);
  if (WS_UNLIKELY(stops_caller))
    ws_traced_stopped(worker);
  ws_place_return(worker);
  worker->searching = true; // counted by its claimer, or by itself
  worker->claimed = end == END_TOKEN;
  ws_traced_unpark(worker, by[end]);
  if (end != END_WORK)
    // relaxed: the next token comes only after the bit is set again [PARK_CLAIM]
    ws_store_relaxed(&worker->token, 0);
  worker->rose_ns = ws_os_now_ns();
  ws_state_enter(worker, WS_WORKER_SWITCHING, worker->rose_ns);
  worker->look_until_ns = ws_prewake_woken(worker, end == END_RISE ? WS_WAKE_TIMER : WS_WAKE_PUSH);
  ws_observe(worker, WS_OBSERVED_UNPARK);
}

void ws_park(ws_worker_t *worker)
{
  struct ws_pool_s *pool = worker->pool;
  // Before anything that takes time: pushes must not rely on a worker that does not look. It looks again
  // below.
  if (worker->searching)
    ws_search_leave(worker);
  ws_give_back(pool, &worker->queue);
  ws_observe(worker, WS_OBSERVED_PARK);
  ws_place_leave(worker);
  worker->slept_ns = ws_os_now_ns();
  ws_state_enter(worker, WS_WORKER_PARKED, worker->slept_ns);
  worker->called_ns = 0;
  worker->called_cpu = 0;
  ws_watch_tick(pool, worker->slept_ns);
  const ws_plan_t plan = ws_prewake_plan(worker);
  if (plan.rise_ns != 0)
    ws_traced_plan(worker, plan.rise_ns, plan.expected_ns);
  ws_traced_park(worker);
  after_sleep(worker, set_bit_and_sleep(worker, plan.rise_ns));
}
