// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_idle.c
/// ws_idle.h: spin, then set the bit in sleepers, fence, look again, sleep. How long a worker should spin is
/// decided by ws_prewake.c (after a burst and before one), by ws_hint.c (during an announced burst, and in a
/// phase) and by WS_SPIN_HOT (always). This file bounds it:
///
/// Budget     spin_cpu_max_percent of a core for each worker (ws_budget.h), counted in count.capped. Not the
///            cap on awake workers (ws_cap.h).
/// Yielding   By ws_may_spin at every iteration: the awake workers of the process leave CPUs to the threads
///            outside, and only the surplus workers stop. A worker that is interrupted by a thread that needs
///            the CPU stops. ws_idle.h has the limits of hot workers.
#include "ws_idle.h"

#include "../pool/ws_callback.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../prewake/ws_prewake.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "../trace/ws_traced.h"
#include "ws_affinity.h"
#include "ws_budget.h"
#include "ws_cap.h"
#include "ws_wake.h"
#include "ws_watch.h"

void ws_idle_prepare(ws_worker_t *worker)
{
  ws_sleep_worker(worker)->confine.may = worker->cpu < 0 && !worker->pool->settings.keep_affinity;
  ws_stat_store(&ws_sleep_worker(worker)->spent.since_ns, ws_os_now_ns());
}

// Hot workers.

/// A hot real-time worker is awake for at most so long, unless tasks keep it awake. Then it sleeps for
/// REST_NS: ws_idle.h says for which threads.
#define AWAKE_NS_MAX UINT64_C(900000)
#define REST_NS UINT64_C(100000)
/// Between two tries of a pool's sleeping workers.
#define RETRY_NS UINT64_C(4000000)

/// Of a hot worker, which busy-polls: threads of normal class that share its CPU would otherwise never run.
static bool needs_rest(const ws_worker_t *worker, uint64_t now_ns)
{
  return worker->realtime && now_ns - ws_sleep_worker(worker)->rose_ns >= AWAKE_NS_MAX;
}

/// @return whether a hot worker must park now, to free a CPU for another thread
static bool must_make_room(const ws_worker_t *worker, uint64_t now_ns)
{
  return ws_is_hot(worker->pool)
         && (needs_rest(worker, now_ns) || ws_producer_on_cpu(worker->pool, ws_os_cpu()));
}

uint64_t ws_hot_later_ns(const struct ws_pool_s *pool)
{
  if (!ws_is_hot(pool) || ws_hint_load(&pool->state) != WS_RUNNING) // a stop wakes all
    return 0;
  const uint32_t asleep = pool->workers - ws_awake(pool);
  return ws_os_now_ns() + RETRY_NS * (asleep > 0 ? asleep : 1);
}

uint64_t ws_hot_retry_ns(const ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  const uint64_t later_ns = ws_hot_later_ns(pool);
  if (later_ns == 0)
    return 0;
  const uint64_t now_ns = ws_os_now_ns();
  if (needs_rest(worker, now_ns))
    return now_ns + REST_NS;
  return ws_may_spin(pool, 1) && !ws_producer_on_cpu(pool, ws_os_cpu()) ? now_ns : later_ns;
}

// Spin.

/// After an idle worker has spun for so long, the next push may be the first after a pause, and reads the
/// clock. If that were shorter, each of a series of tiny tasks would cost its producer such a read.
#define PAUSE_NS 2000u
/// If two iterations are further apart than this, another thread had the CPU.
#define PREEMPTED_NS 100000

/// A real-time thread keeps its CPU from others of its priority until it sleeps (FIFO), or for a tenth of a
/// second (RR). So a spinning one offers its CPU to them so often.
#define OFFER_NS 5000u

/// @return whether there is a reason to spin: what pre-wake expects, a hint, a phase, or a hot pool
static bool is_wanted(const ws_worker_t *worker, const ws_idle_t *idle)
{
  const struct ws_pool_s *pool = worker->pool;
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  return idle->now_ns < idle->until_ns || idle->now_ns < ws_hint_load(&shared->announced_ns)
         || (int32_t)ws_hint_load(&shared->phases) > 0 // may be below zero for a moment
         || ws_is_hot(pool);
}

/// @return whether more workers are awake than may be while one spins, or the pool stops or has one CPU. If
///         several workers see a surplus at once, only the surplus stops: it is not counted from then on
static bool is_surplus(const struct ws_pool_s *pool, ws_idle_t *idle)
{
  if (ws_may_spin(pool, 0))
    return false;
  if (pool->cpus < 2 || ws_hint_load(&pool->state) != WS_RUNNING) // looked at again before sleep
    return true;
  idle->counted = !ws_process_awake_leave(ws_spin_limit(pool));
  return !idle->counted;
}

/// @return whether the worker may spin for one more iteration
static bool may_go_on(ws_worker_t *worker, ws_idle_t *idle)
{
  return is_wanted(worker, idle) && !must_make_room(worker, idle->now_ns) && !is_surplus(worker->pool, idle);
}

/// Spin until there is work, @p allowed_ns (0 or less = none) have passed, the worker may not go on, or it
/// was preempted (a hot one goes on). Its inbox, if the pool has inboxes, is open meanwhile. @return whether
/// there is work, in the inbox or elsewhere
static bool iterate(ws_worker_t *worker, ws_idle_t *idle, int64_t allowed_ns)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t start_ns = idle->now_ns;
  uint64_t offered_ns = start_ns, quiet_ns = start_ns + PAUSE_NS, spun_ns = 0;
  bool found = false, preempted = false;
  while (!found && !preempted && may_go_on(worker, idle)) {
    const uint64_t before_ns = idle->now_ns;
    if ((int64_t)(before_ns - start_ns) >= allowed_ns) {
      ws_count(&worker->queue.count.capped, 1);
      break;
    }
    ws_search_begin(worker); // again, if the guard has taken it off
    if (before_ns > quiet_ns) {
      ws_thief_forget(&worker->queue);
      quiet_ns = ws_prewake_idle(pool, before_ns);
    }
    if (pool->tasks.inboxes > 0)
      ws_inbox_open(&worker->inbox, pool->tasks.waiting);
    ws_relax();
    found = ws_inbox_is(&worker->inbox, WS_INBOX_FULL) || ws_work_visible(&pool->tasks);
    if (worker->realtime && before_ns - offered_ns >= OFFER_NS) {
      ws_os_yield();
      offered_ns = ws_os_now_ns();
    }
    idle->now_ns = ws_os_now_ns();
    const uint64_t took_ns = idle->now_ns - before_ns;
    const bool lost = took_ns > PREEMPTED_NS; // to another thread, or the process was stopped
    spun_ns += lost ? 0 : took_ns;
    preempted = lost && !ws_is_hot(pool);
  }
  if (worker->inbox.open && ws_inbox_shut(&pool->tasks, &worker->inbox)) {
    found = true;
    if (!idle->counted) // it does not park after all
      ws_hint_add(&ws_process.awake, 1);
    idle->counted = true;
  }
  ws_count(&worker->queue.count.preempted, preempted);
  ws_count(&worker->queue.count.spin_ns, spun_ns);
  return found;
}

bool ws_spin(ws_worker_t *worker, ws_idle_t *idle)
{
  struct ws_pool_s *pool = worker->pool;
  if (!may_go_on(worker, idle) || ws_producer_on_cpu(pool, ws_os_cpu())) // a spin would keep that thread off
    return false;
  ws_search_begin(worker);
  const uint64_t start_ns = idle->now_ns;
  const bool hot = ws_is_hot(pool);
  const bool found = iterate(worker, idle, hot ? INT64_MAX : ws_spin_allow(worker, start_ns));
  if (!hot) // a hot spin is not charged
    ws_spin_pay(worker, idle->now_ns - start_ns, found);
  ws_count(&worker->queue.count.spins, 1);
  return found;
}

// Begin and end.

/// Pushes read the word: it is written where it changes by more than an eighth.
static void store_if_changed(ws_au32_t *word, uint64_t value)
{
  const uint64_t before = ws_hint_load(word);
  if (8 * (value > before ? value - before : before - value) > before)
    ws_hint_store(word, (uint32_t)value);
}

/// The worker has been at work until @p now_ns: learn how long its tasks took (task_ns), and what follows for
/// wakes (tasks_a_wake, calls_a_wake). Call before the worker enters another state: spent.since_ns is read.
static void learn_task_time(ws_worker_t *worker, uint64_t now_ns)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  ws_sleep_pool_t *shared = ws_sleep_pool(worker->pool);
  const uint64_t run = ws_own_load(&worker->queue.count.run), tasks = run - sleep->run;
  sleep->run = run;
  if (tasks == 0)
    return; // another worker has counted them
  const uint64_t newest_ns = 1 + (now_ns - ws_own_load(&sleep->spent.since_ns)) / tasks;
  const uint64_t mean_ns = ws_stat_load(&shared->task_ns);
  const uint64_t task_ns = mean_ns ? mean_ns - mean_ns / 8 + newest_ns / 8 : newest_ns;
  const uint64_t waking_ns = ws_prewake_waking_ns(worker->pool), call_ns = ws_call_ns(worker->pool);
  ws_stat_store(&shared->task_ns, task_ns);
  store_if_changed(&shared->tasks_a_wake, WS_WAKE_PARTS * waking_ns / task_ns);
  store_if_changed(&shared->calls_a_wake, call_ns > 0 ? waking_ns / call_ns : 0);
}

ws_idle_t ws_idle_begin(ws_worker_t *worker, bool ran)
{
  struct ws_pool_s *pool = worker->pool;
  ws_idle_t idle = {.counted = true, .now_ns = ws_os_now_ns()};
  if (!ran)
    return idle;
  WS_PROBE(idle, pool, ws_traced_pool(pool), (int32_t)worker->index);
  learn_task_time(worker, idle.now_ns);
  ws_state_enter(worker, WS_WORKER_SWITCHING, idle.now_ns);
  ws_watch_tick(pool, idle.now_ns);
  idle.until_ns = ws_prewake_out_of_work(worker, idle.now_ns);
  return idle;
}

void ws_idle_go_on(ws_idle_t *idle)
{
  idle->now_ns = ws_os_now_ns();
  idle->called_ns = 0; // what the worker finds from now on was not called for
}

bool ws_idle_end(ws_worker_t *worker, ws_idle_t **idle)
{
  if (!*idle)
    return false;
  const uint64_t found_ns = ws_os_now_ns();
  ws_state_enter(worker, WS_WORKER_BUSY, found_ns);
  ws_prewake_found(worker, found_ns, (*idle)->called_ns);
  ws_search_found(worker);
  *idle = NULL;
  return true;
}

// Park.

/// How a sleep has ended: another thread has called the worker; its timer for a burst; it saw work or the
/// stop, and did not sleep; a hot worker's timer. But for the first, the worker has claimed itself, and gets
/// no token. The event unpark has the numbers of the first three.
typedef enum { END_TOKEN, END_RISE, END_WORK, END_RETRY } end_t;

/// The worker has set its bit: sleep until the token comes, or until a timer. If a timer fires and ws_ask()
/// decides against the wake, it sleeps on. On return without the token, the worker has taken its bit back.
/// @param rise_ns  when to be awake for the next burst; 0 = no timer
static end_t sleep_for_token(ws_worker_t *worker, uint64_t rise_ns)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  struct ws_pool_s *pool = worker->pool;
  uint64_t retry_ns = ws_hot_retry_ns(worker);
  while (ws_load_acquire(&sleep->token) == 0) { // [edge PARK_TOKEN acquire]
    ws_traced_sleep(pool, false);
    // what comes first; 0 = never
    const bool retries = rise_ns == 0 || (retry_ns != 0 && retry_ns <= rise_ns);
    if (ws_os_futex_wait_until(&sleep->token, 0, retries ? retry_ns : rise_ns) != -ETIMEDOUT)
      continue;
    *(retries ? &retry_ns : &rise_ns) = 0;
    if (!ws_is_parked(pool, worker->index))
      continue; // another thread has claimed it, and the token is under way
    ws_snapshot_t snapshot = ws_snapshot(pool, WS_TRIGGER_TIMER);
    snapshot.may_spin = !ws_near_stops_producer(worker) && ws_may_spin(pool, 1);
    const ws_here_t here = {.queue = &worker->queue, .worker = worker};
    if (ws_ask(pool, here, &snapshot).wakes > 0) {
      if (ws_claim(pool, worker->index, false))
        return retries ? END_RETRY : END_RISE;
    } else if (retries) {
      retry_ns = ws_hot_later_ns(pool);
    } else { // it sleeps on without its timer
      ws_hint_store(&sleep->alarm_ns, 0); // pick() in ws_wake.c does not prefer it any more
      ws_prewake_disarm(worker); // another worker may set a timer
    }
  }
  return END_TOKEN;
}

/// Set the bit in sleepers, look once more, sleep. @param rise_ns  as of sleep_for_token()
static end_t set_bit_and_sleep(ws_worker_t *worker, ws_idle_t *idle, uint64_t rise_ns)
{
  struct ws_pool_s *pool = worker->pool;
  const uint64_t bit = UINT64_C(1) << (worker->index % 64);
  ws_store_relaxed(&ws_sleep_worker(worker)->alarm_ns, rise_ns); // relaxed: published with the bit
  // [edge PARK_CLAIM acq_rel] the sleep begins
  ws_or_acq_rel(&ws_sleep_pool(pool)->sleepers[worker->index / 64], bit);
  ws_hint_add(&ws_process.awake, 0u - idle->counted);
  // [edge PARK_DEKKER fence] The bit in sleepers and the end of the search before the loads of the queues,
  // the state and the mode. Without the fence the look can miss a task whose push does not see the bit yet:
  // the worker sleeps while the task waits.
  ws_fence_seq_cst();
  if (ws_work_visible(&pool->tasks) || ws_inbox_is(&worker->inbox, WS_INBOX_FULL) // filled since it left it
      || ws_load_relaxed(&pool->state) == WS_STOPPED) { // relaxed: after the fence
    if (ws_claim(pool, worker->index, false))
      return END_WORK; // else another thread has claimed it, and the token is under way
  } else {
    ws_count(&worker->queue.count.parks, 1);
  }
  return sleep_for_token(worker, rise_ns);
}

void ws_park(ws_worker_t *worker, ws_idle_t *idle)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  struct ws_pool_s *pool = worker->pool;
  const bool was_called = ws_hint_load(&sleep->state) & WS_STATE_CALLED; // no other thread changes that now
  WS_PROBE(park, pool, ws_traced_pool(pool), (int32_t)worker->index);
  // Before anything that takes time: pushes must not rely on a worker that does not look. It looks again in
  // set_bit_and_sleep().
  ws_search_leave(worker, WS_STATE_PARKED);
  ws_count(&worker->queue.count.futile, was_called);
  ws_give_back(pool, &worker->queue);
  ws_observe(worker, WS_OBSERVED_PARK);
  ws_affinity_leave(worker);
  const uint64_t now_ns = ws_os_now_ns();
  ws_state_enter(worker, WS_WORKER_PARKED, now_ns);
  sleep->called_ns = 0;
  sleep->called_cpu = 0;
  ws_watch_tick(pool, now_ns);
  const end_t end = set_bit_and_sleep(worker, idle, ws_prewake_plan(worker, now_ns));
  const bool stops_caller = end == END_TOKEN && (uint32_t)(ws_os_cpu() + 1) == sleep->called_cpu;
  ws_count(&worker->queue.count.stopped_callers, stops_caller);
  ws_affinity_return(worker, 0);
  ws_hint_store(&sleep->alarm_ns, 0);
  if (end == END_TOKEN)
    // relaxed: the next token comes only after the bit is set again [PARK_CLAIM]
    ws_store_relaxed(&sleep->token, 0);
  sleep->rose_ns = ws_os_now_ns();
  idle->counted = true; // by the thread that has claimed it
  idle->called_ns = sleep->called_ns;
  WS_PROBE(unpark, pool, ws_traced_pool(pool), (int32_t)worker->index, end == END_RETRY ? END_RISE : end,
           idle->called_ns ? sleep->rose_ns - idle->called_ns : 0);
  ws_state_enter(worker, WS_WORKER_SWITCHING, sleep->rose_ns);
  ws_observe(worker, WS_OBSERVED_UNPARK);
  const ws_wake_by_t by = end == END_RISE ? WS_WAKE_TIMER : WS_WAKE_PUSH;
  idle->until_ns = ws_prewake_woken(worker, by, sleep->rose_ns, idle->called_ns);
}
