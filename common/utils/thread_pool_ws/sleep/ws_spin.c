// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_spin.c
/// ws_idle.h. How long a worker should spin is decided by ws_prewake.c (after a burst and before one) and by
/// ws_hint.c (during an announced burst). This file bounds it:
///
/// Capped     By spin_cpu_max_percent of a core for each worker (ws_budget.h), counted in count.capped. Not
///            the cap on awake workers (pool->capped).
/// Yielding   By ws_may_spin at every iteration: the awake workers of the process leave CPUs to the threads
///            outside, and only the surplus workers stop. A worker that is interrupted by a thread that needs
///            the CPU stops. ws_idle.h has the limits of hot workers.
#include "ws_idle.h"

#include "../os/ws_os.h"
#include "../pool/ws_near.h"
#include "../pool/ws_process.h"
#include "../pool/ws_types.h"
#include "../prewake/ws_prewake.h"
#include "../tasks/ws_places.h"
#include "../wide/ws_inbox.h"
#include "ws_budget.h"
#include "ws_guard.h"
#include "ws_wake.h"

/// After an idle worker has spun for so long, there is a pause. If that were shorter, each of a series of
/// tiny tasks would cost its producer a read of the clock.
#define PAUSE_NS 2000u
/// If two iterations are further apart than this, another thread had the CPU.
#define PREEMPTED_NS 100000

/// A real-time thread keeps its CPU from others of its priority until it sleeps (FIFO), or for a tenth of a
/// second (RR). So a spinning one offers its CPU to them so often.
#define OFFER_NS 5000u

void ws_spin_found(ws_worker_t *worker)
{
  worker->found_ns = ws_os_now_ns();
  ws_state_enter(worker, WS_WORKER_BUSY, worker->found_ns);
  // A worker that was called found its task later than the task came.
  const bool called = worker->called_ns > worker->out_of_work_ns;
  const uint64_t came_ns = called ? worker->called_ns : worker->found_ns;
  ws_prewake_found(worker, worker->found_ns, came_ns - worker->out_of_work_ns);
}

static bool is_wanted(const ws_worker_t *worker, uint64_t now_ns)
{
  const struct ws_pool_s *pool = worker->pool;
  return now_ns < worker->look_until_ns || now_ns < ws_hint_load(&pool->announced_ns)
         || (int32_t)ws_hint_load(&pool->phases) > 0 // may be below zero for a moment
         || ws_is_hot(pool);
}

/// @return whether more workers are awake than may be while one spins. If several workers see this at once,
///         only the surplus stops: a worker that stops is off the count from then on.
static bool is_surplus(ws_worker_t *worker)
{
  const struct ws_pool_s *pool = worker->pool;
  if (ws_may_spin(pool))
    return false;
  if (pool->cpus < 2 || ws_hint_load(&pool->state) != WS_RUNNING) // looked at again before sleep
    return true;
  worker->discounted = ws_process_awake_leave(ws_spin_limit(pool));
  return worker->discounted;
}

/// @return whether the worker was handed a task
static bool shut_inbox(ws_worker_t *worker)
{
  worker->handed = worker->inbox.open && ws_inbox_shut(&worker->pool->tasks, &worker->inbox);
  if (worker->handed && worker->discounted) { // it does not park after all
    worker->discounted = false;
    ws_process_awake_add(1);
  }
  return worker->handed;
}

/// @return whether there is work; @p end_ns: the end of the last iteration
static bool iterate(ws_worker_t *worker, uint64_t start_ns, int64_t allowed_ns, uint64_t *end_ns)
{
  struct ws_pool_s *pool = worker->pool;
  uint64_t now_ns = start_ns, offered_ns = start_ns, spun_ns = 0;
  uint64_t quiet_ns = start_ns + PAUSE_NS;
  bool found = false, preempted = false;
  while (!found && !preempted && is_wanted(worker, now_ns) && !ws_hot_must_stop(worker, now_ns)
         && !is_surplus(worker)) {
    if ((int64_t)(now_ns - start_ns) >= allowed_ns) {
      ws_count(&worker->queue.count.capped, 1);
      break;
    }
    const uint64_t before_ns = now_ns;
    ws_search_begin(worker); // again, if the guard has taken it off
    if (now_ns > quiet_ns) {
      worker->queue.late_pauses = 0;
      quiet_ns = ws_prewake_idle(pool, now_ns);
    }
    if (pool->tasks.inboxes > 0)
      ws_inbox_open(&worker->inbox, pool->tasks.waiting);
    ws_relax();
    found = ws_inbox_is_full(&worker->inbox) || ws_work_visible(&pool->tasks);
    if (worker->realtime && now_ns - offered_ns >= OFFER_NS) {
      ws_os_yield();
      offered_ns = ws_os_now_ns();
    }
    now_ns = ws_os_now_ns();
    const bool lost = now_ns - before_ns > PREEMPTED_NS; // to another thread, or the process was stopped
    spun_ns += lost ? 0 : now_ns - before_ns;
    preempted = lost && !ws_is_hot(pool);
  }
  found |= shut_inbox(worker);
  ws_count(&worker->queue.count.preempted, preempted);
  ws_count(&worker->queue.count.spin_ns, spun_ns);
  *end_ns = now_ns;
  return found;
}

bool ws_spin(ws_worker_t *worker, bool ran)
{
  struct ws_pool_s *pool = worker->pool;
  uint64_t now_ns = ws_os_now_ns();
  if (ran) {
    worker->out_of_work_ns = now_ns;
    ws_state_enter(worker, WS_WORKER_SWITCHING, now_ns);
    ws_watch_tick(pool, now_ns);
    worker->look_until_ns = ws_prewake_out_of_work(worker, now_ns);
  }
  if (!is_wanted(worker, now_ns) || ws_hot_must_stop(worker, now_ns))
    return false;
  if (ws_producer_on_cpu(pool, ws_os_cpu()) || is_surplus(worker)) // a spin here would keep the producer off
    return false;
  ws_search_begin(worker);
  worker->called_ns = 0; // what the spin finds was not called for
  const uint64_t start_ns = now_ns;
  const bool hot = ws_is_hot(pool);
  const bool found = iterate(worker, start_ns, hot ? INT64_MAX : ws_spin_allow(worker, start_ns), &now_ns);
  if (!hot) // a hot spin is not charged
    ws_spin_pay(worker, now_ns - start_ns, found);
  ws_count(&worker->queue.count.spins, 1);
  return found;
}
