// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_wait.c
/// Wait for all tasks of a pool, and stop it. Neither is on the path of a burst.
///
/// Idle?   Sum the run counters first, the pushed counters after. Both only grow and run <= pushed at every
///         moment, so equal sums mean that nothing was queued or running at the moment between the two sums.
/// Stop    1. state DRAINING or ABORTING: outside pushes are refused, tasks may still push.
///         2. wait until idle, helping; an abort skips what it finds. Wait for threads that hold the pool.
///         3. state STOPPED, every worker wakes and ends; join their threads.
///         4. look at every queue once more, for a push that was under way during 3 (STOP_DEKKER in
///         ws_push.c).
#include "../page/ws_page.h"
#include "../pool/ws_callback.h"
#include "../pool/ws_lane.h"
#include "../sleep/ws_budget.h"
#include "../sleep/ws_guard.h"
#include "../sleep/ws_helper.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_escape.h"
#include "ws_next.h"
#include "ws_push.h"
#include "ws_run.h"
#include "ws_search.h"

/// @return whether nothing was queued or running at one moment of the call; the caller sees what the tasks
/// wrote
static bool is_idle(struct ws_pool_s *pool)
{
  const uint32_t queues = ws_queue_count(&pool->tasks);
  uint64_t run = ws_load_acquire(&pool->count.laneless_run); // [edge POOL_IDLE acquire]
  for (uint32_t i = 0; i < queues; i++)
    run += ws_load_acquire(&pool->tasks.queue[i]->count.run); // [edge POOL_IDLE acquire] what the tasks wrote
  // If pushed was read first, a task that is pushed and run in between could stand for one that still waits.
  ws_fence_seq_cst(); // [edge POOL_IDLE fence] run before pushed
  const uint32_t queues_now = ws_queue_count(&pool->tasks);
  uint64_t pushed = ws_load_acquire(&pool->count.laneless_pushed); // [edge POOL_IDLE acquire]
  for (uint32_t i = 0; i < queues_now; i++)
    pushed += ws_load_acquire(&pool->tasks.queue[i]->count.pushed); // [edge POOL_IDLE acquire]
  return run == pushed;
}

/// Run one task, if one is found. @return whether
static bool help_any(ws_search_t *search)
{
  ws_task_t task;
  if (!search->here.queue)
    search->here = ws_here_known(search->pool); // it may have got a lane in a task
  if (!ws_next(search, search->filter, &task))
    return false;
  ws_run_whole(search->pool, search->here, &task);
  return true;
}

/// Sleep until the pool is idle, or until @p until_ns (CLOCK_MONOTONIC; 0 = no limit). A push
/// meanwhile does not wake the caller: workers run its task.
static void sleep_until_idle(struct ws_pool_s *pool, uint64_t until_ns)
{
  ws_add_acq_rel(&pool->idle_waiters, 1); // [edge IDLE_DEKKER acq_rel]
  uint32_t seen;
  do {
    seen = ws_load_acquire(&pool->idle_times); // [edge IDLE_SEQ acquire] before the look
    // Without the fence the look can miss the last task, whose thread does not see this waiter: no wake
    // comes.
    ws_fence_seq_cst(); // [edge IDLE_DEKKER fence] waiters before the counters
  } while (!is_idle(pool) && ws_os_futex_wait_until(&pool->idle_times, seen, until_ns) != -ETIMEDOUT);
  ws_sub_acq_rel(&pool->idle_waiters, 1); // [edge IDLE_DEKKER acq_rel]
}

/// @return whether a search of the wait would probably find a task
static bool may_help(const ws_search_t *search)
{
  const ws_queue_t *own = search->here.queue;
  if (search->filter == WS_NEXT_OWN)
    return own && ws_deque_size(&own->deque) > 0;
  return own ? ws_work_visible(&search->pool->tasks) : ws_shared_visible(&search->pool->tasks);
}

/// Spin for join_spin_ns_max at most. Looks at least once: the search may have given up. @return whether the
/// pool is idle, or the caller may find a task; false = it is to sleep, or the time limit is over
static bool spin_until_idle(const ws_search_t *search, uint64_t until_ns)
{
  struct ws_pool_s *pool = search->pool;
  const uint64_t start_ns = ws_os_now_ns();
  for (;; ws_pause()) {
    if (is_idle(pool) || may_help(search))
      return true;
    const uint64_t now_ns = ws_os_now_ns();
    if (!ws_helper_may_spin(pool) || now_ns - start_ns >= pool->settings.join_spin_ns_max
        || (until_ns != 0 && now_ns >= until_ns))
      return false;
  }
}

/// Wait until the pool is idle, and run its tasks meanwhile: with a time limit only those of the own queue,
/// or without a queue pool-wide ones.
/// @param until_ns  CLOCK_MONOTONIC; 0 = no limit. @return false = the limit has passed, and the pool was not
/// idle
static bool wait_until_idle(struct ws_pool_s *pool, ws_here_t here, uint64_t until_ns)
{
  bool idle;
  ws_search_t search = {.pool = pool, .here = here, .filter = until_ns == 0 ? WS_NEXT_ANY : WS_NEXT_OWN};
  struct ws_pool_s *const ran_in = ws_self()->runs_in;
  ws_self()->runs_in = pool;
  const int cancel = ws_cancel_disable();
  const bool helps = ws_helper_begin(pool, here);
  while (!(idle = is_idle(pool)) && (until_ns == 0 || ws_os_now_ns() < until_ns)) {
    if (help_any(&search))
      continue;
    ws_note_idle(pool); // another thread may wait too
    if (spin_until_idle(&search, until_ns))
      continue;
    ws_blocking_begin(); // also the CPU slot that a worker has in its own pool
    ws_traced_sleep(pool, false);
    sleep_until_idle(pool, until_ns);
    ws_traced_sleep(pool, true);
    ws_blocking_end();
  }
  if (helps)
    ws_helper_end(pool, here);
  if (search.here.queue && search.here.queue->deque.level > 0)
    ws_give_back(pool, search.here.queue);
  ws_note_idle(pool);
  ws_self()->runs_in = ran_in;
  ws_cancel_restore(cancel);
  return idle;
}

/// @param here  out: the caller in the pool, if 0 or -EDEADLK is returned
/// @return 0 = the caller may wait for all of the pool's tasks; -EINVAL = NULL; -ESRCH = lost by a fork;
/// -EDEADLK = it is a worker of the pool, or inside a task of it
static int refusal_of(ws_pool_t *pool, ws_here_t *here)
{
  if (!pool)
    return -EINVAL;
  if (ws_is_lost(pool))
    return -ESRCH;
  *here = ws_here(pool);
  return here->worker || ws_is_inside(pool, *here) ? -EDEADLK : 0;
}

/// @param until_ns  0 = no limit. @return as ws_pool_wait_until()
static int wait_checked(ws_pool_t *pool, uint64_t until_ns)
{
  ws_not_observing(until_ns == 0 ? "ws_pool_wait" : "ws_pool_wait_until");
  ws_here_t here;
  const int refusal = refusal_of(pool, &here);
  if (refusal)
    return refusal;
  ws_traced_join(pool, NULL, false);
  const bool idle = wait_until_idle(pool, here, until_ns);
  ws_traced_join(pool, NULL, true);
  return idle ? 0 : -ETIMEDOUT;
}

int ws_pool_wait(ws_pool_t *pool)
{
  return wait_checked(pool, 0);
}

int ws_pool_wait_until(ws_pool_t *pool, uint64_t deadline_ns)
{
  return wait_checked(pool, ws_os_until(deadline_ns));
}

/// Step 3 of a stop. No worker shall wait for a CPU to end: pinned ones may use all CPUs of the process from
/// now on, and each gets the caller's class, if threads of that go first.
static void end_workers(struct ws_pool_s *pool)
{
  ws_guard_end(pool); // no worker is made from now on
  // A worker that ends needs no CPU of its own, and its own may be held by another thread. Now: a thread that
  // has ended has no number.
  for (uint32_t i = 0; i < pool->workers; i++) {
    const ws_worker_t *worker = pool->worker[i];
    if (worker->cpu >= 0 && ws_tid(worker) != 0)
      ws_os_allow(ws_tid(worker), &pool->mask);
    ws_os_lend_class(ws_tid(worker));
  }
  ws_store_release(&pool->state, WS_STOPPED); // [edge STOP release]
  // [edge STOP_DEKKER fence] [edge PARK_DEKKER fence] The store of the state before the looks at sleepers
  // and queues. Without the fence a worker that parks can read the old state while its bit is not seen here:
  // it is not woken, and the join of its thread never ends.
  ws_fence_seq_cst();
  ws_wake_all(pool);
  const uint32_t obtained = ws_hint_load(&pool->obtained);
  ws_started_wait(pool, WS_STARTED_WORKERS, obtained, 0); // those that were behind, too
  for (uint32_t i = 0; i < obtained; i++)
    pthread_join(pool->worker[i]->thread, NULL);
  ws_page_end(pool);
}

static void print(void *unused, const char *line)
{
  (void)unused;
  fprintf(stderr, "%s\n", line);
}

int64_t ws_pool_stop(ws_pool_t *pool, ws_stop_t how)
{
  ws_not_observing("ws_pool_stop");
  ws_here_t here;
  const int refusal = (uint32_t)how > WS_STOP_ABORT ? -EINVAL : refusal_of(pool, &here);
  if (refusal)
    return refusal;
  uint32_t running = WS_RUNNING;
  if (how == WS_STOP_ABORT && ws_load_relaxed(&pool->state) == WS_RUNNING) // relaxed: one caller
    ws_store_relaxed(&pool->runs, WS_RUNS_SKIPPED); // relaxed: published with the state
  // [edge STOP acq_rel] how tasks run, before the state
  if (!ws_cas_acq_rel(&pool->state, &running, how == WS_STOP_ABORT ? WS_ABORTING : WS_DRAINING))
    return -EALREADY;
  const ws_hooks_t *hooks = ws_process_hooks();
  if (how == WS_STOP_ABORT && hooks)
    hooks->aborted(pool);
  const int cancel = ws_cancel_disable(); // half of a stop would be left
  wait_until_idle(pool, here, 0);
  ws_group_sleep(&pool->end.holds, 0); // of resumes: their pushes are not refused
  end_workers(pool);
  // [edge STOP_DEKKER fence] state before the last look at inboxes
  ws_os_fence_heavy(ws_hint_load(&pool->tasks.light));
  ws_run_left(pool, here);
  WS_PROBE(pool_stop, pool, ws_traced_pool(pool));
  if (pool->settings.report)
    ws_pool_report(pool, print, NULL);
  ws_cancel_restore(cancel);
  return (int64_t)ws_load_relaxed(&pool->count.skipped); // relaxed: the workers have ended; a push may follow
}
