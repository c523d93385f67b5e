// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_guard.c
/// The guard: a watchdog thread. It looks every 0.5 ms whether queued tasks are reached, and wakes a worker
/// if not. Two things can keep a task waiting while a worker sleeps:
///
///   Tasks block   The cap on awake workers is full of workers whose tasks wait for something.
///   No CPU        Pushes rely on a worker that searches, or was woken, and its CPU is held by a thread of a
///                 higher class. The guard stops relying on the worker (ws_wake.h). Any thread may
///                 then take a task that is stuck in such a worker's inbox (ws_inbox.h).
///
/// When it becomes dormant, it gives pages of queues that have shrunk back to the kernel. In a pool of one
/// worker it is STANDING only for those pages, and for a wake that would stop the producer. Its thread also
/// looks at the CPU set and the quota, and makes the workers that the system has refused.
///
///   DORMANT --a task is queued while a worker sleeps, or handed to one, a wake is spared, or a queue has
///   shrunk--> STANDING
///   STANDING --nothing to see for 10 ms--> DORMANT: its thread looks each pool->live.sleep_ns
///   any --the pool stops--> ENDED
/// [edge GUARD_DEKKER] A thread that queues a task while a worker sleeps sees the guard STANDING, or makes it
/// so. A guard that has become DORMANT looks at the queues once more.
///
/// Why a separate thread: it is of the class BATCH, which never preempts (take_class() has an exception).
/// When workers block, a CPU is free and the guard runs at once. When workers work, the guard waits until
/// they are done. With a parked worker in this role a long burst took 3 % longer.
#define _GNU_SOURCE
#include "ws_guard.h"

#include <sched.h>

#include "../record/ws_flight.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "ws_affinity.h"
#include "ws_cap.h"
#include "ws_wake.h"
#include "ws_watch.h"

/// Between two looks: this, the slack and a wake must fit in the promised 1 ms. The slack lets the kernel
/// join the timer with another one of that CPU: an interrupt of its own costs the worker that it strikes 15
/// to 25 us on a virtual machine.
#define PERIOD_NS 500000u
#define SLACK_NS 350000u
/// Time from the call to the first look: all workers that the caller saw awake may block from the start.
#define FIRST_NS 150000u
/// About 10 ms, in looks in a row. Without a finding the guard becomes dormant. If tasks waited and none was
/// finished, though the workers use their CPUs, these may be waiting for one of the queued tasks in a loop.
/// If nothing was stalled and no task blocked, the cap holds again.
#define LOOKS_MANY 14u

/// Looks in a row at which tasks waited, up to which no worker is woken that would stop a producer which
/// runs: 1 to 2 ms. A producer that runs usually joins soon, and then runs the tasks itself.
#define SPARED_LOOKS 2u

/// What the guard remembers from look to look.
typedef struct {
  uint64_t looks; ///< number of this look
  uint64_t steps; ///< ws_queue_steps() of all queues at the last look
  uint32_t quiet; ///< looks in a row without a finding
  uint32_t waited; ///< looks in a row at which tasks waited
  uint32_t stalled; ///< looks in a row at which tasks waited and none was begun or finished
  uint32_t healthy; ///< looks in a row at which nothing was stalled and no task blocked
  uint32_t without; ///< looks at which workers had no CPU; halved at each one before which a task moved on
} memory_t;

/// @return whether some task was begun or finished since the last look; at the first one after DORMANT: ever.
/// What a thread without a lane finishes does not count
static bool has_moved(struct ws_pool_s *pool, memory_t *memory)
{
  uint64_t steps = 0;
  const uint32_t queues = ws_queue_count(&pool->tasks);
  for (uint32_t i = 0; i < queues; i++)
    steps += ws_queue_steps(pool->tasks.queue[i]);
  const bool moved = steps != memory->steps;
  memory->steps = steps;
  return moved;
}

static bool is_behind(const ws_worker_t *worker)
{
  return ws_load_acquire(&worker->start.state) == WS_START_BEHIND; // [edge START acquire]
}

/// @return threads outside that are thought to need a CPU and do not sleep in the kernel. A task that such a
/// thread runs while it helps may block, too. If there are none, `outside` is 0 until the next push or hint
static uint32_t awake_outside(struct ws_pool_s *pool)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint32_t thought = ws_outside(pool), queues = ws_queue_count(&pool->tasks);
  uint32_t awake = 0;
  for (uint32_t i = pool->workers; i < queues && awake < thought; i++) {
    const uint64_t owner = ws_hint_load(&pool->tasks.queue[i]->owner);
    awake += owner != 0 && !ws_os_thread_sleeps(ws_tid_of(owner));
  }
  if (awake == 0 && ws_hint_load(&shared->outside))
    ws_hint_store(&shared->outside, 0); // the next push sets it
  return awake;
}

/// @return awake workers that sleep in the kernel, but neither in a join nor in a blocking section: their
/// tasks wait for an event that the pool cannot see. At most @p working. A worker that is behind counts as
/// blocked, as in a join
static uint32_t hidden_workers(struct ws_pool_s *pool, uint32_t working)
{
  const uint32_t blocked = ws_hint_load(&ws_sleep_pool(pool)->blocked);
  uint32_t sleeping = 0;
  for (uint32_t i = 0; i < pool->workers; i++)
    if (!ws_is_parked(pool, i))
      sleeping += is_behind(pool->worker[i]) || ws_os_thread_sleeps(ws_tid(pool->worker[i]));
  const uint32_t hidden = sleeping > blocked ? sleeping - blocked : 0;
  return hidden < working ? hidden : working;
}

/// Notes this look. @return whether tasks waited at it and at the one before, and the worker, awake at both,
/// used no CPU in between; false if its CPU time is not known
static bool is_starved(ws_worker_t *worker, uint64_t look)
{
  ws_sleep_worker_t *sleep = ws_sleep_worker(worker);
  const uint64_t cpu_ns = ws_os_thread_cpu_ns(ws_tid(worker));
  const bool starved = sleep->watched.look + 1 == look && sleep->watched.cpu_ns == cpu_ns && cpu_ns != 0;
  sleep->watched.look = look;
  sleep->watched.cpu_ns = cpu_ns;
  return starved;
}

/// Tasks wait. Stop relying on searchers that get no CPU, and let them run wherever they could before.
/// @param any  in and out: set if an awake worker gets none; for a searcher only when it is taken off
/// @return the awake workers without a CPU that are inside a task. Searchers are left out: from now on the
///         pool's `starved` counts them
static uint32_t starved_workers(struct ws_pool_s *pool, uint64_t look, bool *any)
{
  uint32_t starved = 0;
  for (uint32_t i = 0; i < pool->workers; i++) {
    ws_worker_t *worker = pool->worker[i];
    if (ws_is_parked(pool, i) || is_behind(worker) || !is_starved(worker, look))
      continue;
    const bool searches = ws_searches(worker);
    const bool is_without = searches ? ws_search_starved(worker) : !ws_os_thread_sleeps(ws_tid(worker));
    starved += is_without && !searches;
    if (is_without && searches)
      ws_affinity_return(worker, ws_tid(worker));
    *any |= is_without;
  }
  // [edge PARK_DEKKER fence] The stores of stuck and the end of their search before the look. Without the
  // fence the look can miss a task whose push still relied on one of them, and woke no worker.
  ws_fence_seq_cst();
  return starved;
}

/// Tasks wait, and no searcher will take them. Wake as many workers as are needed and have a CPU. If every
/// awake worker is blocked, or no task has moved on for LOOKS_MANY looks, the cap does not hold any more.
/// @param hidden, starved  of @p working: workers that block unseen, and workers in a task without a CPU
static void wake_for_waiting(struct ws_pool_s *pool, const memory_t *memory, uint32_t working,
                             uint32_t hidden, uint32_t starved)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  if ((hidden > 0 && hidden == working) || memory->stalled >= LOOKS_MANY)
    ws_hint_store(&shared->lifted, 1);
  const bool holds = ws_hint_load(&shared->cap) > 0 && !ws_hint_load(&shared->lifted);
  const uint32_t outside = holds || pool->pinned > 0 ? awake_outside(pool) : 0;
  const uint32_t limit = holds ? ws_awake_limit_beside(pool, outside) : pool->workers;
  const uint64_t queued = ws_queued(&pool->tasks);
  const uint32_t away = hidden + starved < working ? hidden + starved : working;
  ws_snapshot_t snapshot = ws_snapshot(pool, WS_TRIGGER_STUCK);
  snapshot.working = working - away;
  snapshot.limit = limit;
  // Those woken at the looks before may have no CPU: wake more each time. If they share one that is taken,
  // twice as many each time, or the worker that could run might be the last one of many.
  const uint32_t more = ((1u << (memory->without < 8 ? memory->without : 8)) - 1) / 2;
  snapshot.limit += more;
  snapshot.queued = queued > memory->waited + more ? queued : memory->waited + more;
  snapshot.may_stop = outside == 0 || memory->waited > SPARED_LOOKS;
  ws_wake(pool, (ws_here_t){0}, &snapshot, WS_KIND_NORMAL);
}

/// One look while STANDING: note what has changed, and wake workers, or let the cap hold again.
static void look(struct ws_pool_s *pool, memory_t *memory)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  ws_count(&shared->count.guard_looks, 1);
  memory->looks++;
  const bool moved = has_moved(pool, memory);
  const bool waiting = ws_inbox_watch(&pool->tasks) > 0 || ws_work_visible(&pool->tasks);
  bool any = false;
  const uint32_t starved = waiting ? starved_workers(pool, memory->looks, &any) : 0;
  const bool lifted = ws_hint_load(&shared->lifted);
  const uint32_t working = ws_working(pool);
  const uint32_t hidden = waiting || lifted ? hidden_workers(pool, working) : 0;
  memory->stalled = waiting && !moved ? memory->stalled + 1 : 0;
  memory->quiet = waiting || moved ? 0 : memory->quiet + 1;
  memory->waited = waiting ? memory->waited + 1 : 0;
  memory->without = waiting ? (moved ? memory->without / 2 : memory->without) + any : 0;
  memory->healthy = hidden == 0 && memory->stalled == 0 ? memory->healthy + 1 : 0;
  // A searcher will look at the queues; unless no task has moved on for two looks.
  const bool searched = ws_is_searched(pool) && memory->stalled < 2;
  if (waiting && !searched)
    wake_for_waiting(pool, memory, working, hidden, starved);
  else if (lifted && memory->healthy >= LOOKS_MANY)
    ws_hint_store(&shared->lifted, 0);
}

/// The pool was quiet. The cap holds again. STANDING again if there is work, else pages are given back.
static void become_dormant(struct ws_pool_s *pool)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  ws_hint_store(&shared->lifted, 0); // no other thread would reset it
  ws_guard_change(&shared->guard, WS_GUARD_STANDING, WS_GUARD_DORMANT);
  // [edge GUARD_DEKKER fence] dormant before the last look
  ws_os_fence_heavy(ws_hint_load(&pool->tasks.light));
  if (ws_work_visible(&pool->tasks) || ws_inbox_count(&pool->tasks) > 0)
    ws_guard_change(&shared->guard, WS_GUARD_DORMANT, WS_GUARD_STANDING);
  else
    ws_queues_trim(&pool->tasks); // dormant before: a queue that shrinks from now on calls the guard
}

/// Between two tries to make the workers that the system has refused.
#define MISSING_NS 200000000u

/// The guard is of class BATCH, but for one case. A kernel with PREEMPT_RT leaves the timer of a normal
/// thread on the CPU where it was set until no real-time thread runs there, such as a worker whose task waits
/// for the guard. So there a guard of real-time workers is of class FIFO, with the lowest priority, if it
/// may. Normal workers lose their CPUs and timers to such a thread, too; the guard of class FIFO would stop
/// them at each look.
static void take_class(const struct ws_pool_s *pool)
{
  char version[512];
  if (ws_affinity_priority(pool) > 0 && ws_os_read("/proc/version", version, sizeof(version))
      && strstr(version, "PREEMPT_RT")
      && pthread_setschedparam(pthread_self(), SCHED_FIFO, &(struct sched_param){.sched_priority = 1}) == 0)
    return;
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &(struct sched_param){0});
}

/// Make the workers that are missing. If there were none, set up the guard's timer slack, CPUs and class,
/// guard_tid, watch->cpus, and the scribe's CPUs (record/). Until then the guard keeps its creator's: threads
/// inherit them. @return whether none was missing
static bool settle(struct ws_pool_s *pool, ws_watch_t *watch)
{
  if (pool->make_missing && pool->make_missing(pool))
    return false;
  ws_os_timer_slack(SLACK_NS);
  ws_affinity_beside_workers(pool);
  ws_flight_widen();
  ws_hint_store(&ws_sleep_pool(pool)->guard_tid, (uint32_t)ws_os_tid());
  watch->cpus = ws_os_process_cpu_count();
  // Last: with this class it may get no CPU, and must hold no lock.
  take_class(pool);
  return true;
}

/// Until ENDED: look each PERIOD_NS while STANDING; while DORMANT wake each pool->live.sleep_ns (0 = when
/// called), for the page and the machine only, or each MISSING_NS until no worker is missing.
static void *guard_thread(void *pool_arg)
{
  struct ws_pool_s *pool = pool_arg;
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  ws_started_wait(pool, WS_STARTED_ALL, WS_STARTED_ALL, 0);
  uint64_t settle_ns = ws_os_now_ns() + MISSING_NS;
  ws_watch_t watch = {.throttled = UINT64_MAX, .cpus = ws_os_process_cpu_count()};
  bool settled = settle(pool, &watch);
  // [edge START release] set up; or workers are missing, and the creation waits neither for them nor for that
  ws_add_release(&pool->started, WS_STARTED_GUARD);
  ws_os_futex_wake(&pool->started, WS_SLEEPERS_ALL); // the workers wait on the same word
  memory_t memory = {0};
  uint64_t wait_ns = FIRST_NS;
  for (;;) {
    const uint32_t state = ws_load_acquire(&shared->guard); // [edge GUARD_DEKKER acquire]
    if (state == WS_GUARD_ENDED)
      return NULL;
    const uint64_t rest_ns = settled ? pool->live.sleep_ns : MISSING_NS;
    ws_os_futex_wait(&shared->guard, state, state == WS_GUARD_STANDING ? wait_ns : rest_ns);
    if (!settled && ws_os_now_ns() >= settle_ns) {
      settle_ns = ws_os_now_ns() + MISSING_NS;
      settled = settle(pool, &watch);
    }
    if (pool->live.look)
      pool->live.look(pool);
    ws_watch_look(pool, &watch);
    wait_ns = state == WS_GUARD_STANDING ? PERIOD_NS : FIRST_NS;
    if (state == WS_GUARD_DORMANT) {
      memory = (memory_t){.looks = memory.looks + 1};
      continue;
    }
    look(pool, &memory);
    if (memory.quiet < LOOKS_MANY)
      continue;
    memory.quiet = 0;
    become_dormant(pool);
  }
}

int ws_guard_create(struct ws_pool_s *pool, uint64_t patience_ns)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const size_t stack_bytes = pool->settings.stack_bytes;
  const int error = ws_os_thread_create(&shared->guard_thread, stack_bytes, patience_ns, guard_thread, pool);
  shared->has_guard = error == 0;
  if (shared->has_guard)
    pthread_setname_np(shared->guard_thread, "ws_guard");
  return error;
}

bool ws_guard_start(struct ws_pool_s *pool)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  const uint32_t beside_producer = pool->cpus > 2 ? pool->cpus - 1 : 1; // CPUs that it leaves
  const uint32_t cpus = beside_producer < pool->worker_cpus ? beside_producer : pool->worker_cpus;
  shared->guarded = shared->has_guard && pool->workers > 1;
  shared->bounded = shared->guarded && pool->workers > cpus;
  shared->spares = shared->has_guard && pool->pinned > 0 && pool->allowed_cpus > 1;
  ws_init_store(&shared->spin_cpus, pool->cpus);
  ws_awake_cap_set(pool, 0);
  return shared->guarded;
}

void ws_guard_await(struct ws_pool_s *pool)
{
  if (ws_sleep_pool(pool)->has_guard)
    ws_started_wait(pool, WS_STARTED_GUARD, WS_STARTED_GUARD, WS_START_NS_MAX);
}

void ws_guard_end(struct ws_pool_s *pool)
{
  ws_sleep_pool_t *shared = ws_sleep_pool(pool);
  if (!shared->has_guard)
    return;
  ws_os_lend_class((int32_t)ws_hint_load(&shared->guard_tid));
  const uint32_t before = ws_xchg_acq_rel(&shared->guard, WS_GUARD_ENDED); // [edge GUARD_DEKKER acq_rel]
  WS_CHANGES(ws_guard_changes, before, WS_GUARD_ENDED);
  ws_os_futex_wake(&shared->guard, 1);
  pthread_join(shared->guard_thread, NULL);
}
