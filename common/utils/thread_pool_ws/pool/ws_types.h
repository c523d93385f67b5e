// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_types.h
/// The shared state of a pool, but for the places where tasks wait (ws_tasks.h) and what pre-wake keeps to
/// itself. Read this first, then a task's life: ws_push.c, ws_queue.h, ws_wake.h, ws_next.h, ws_worker.c,
/// ws_run.h, ws_group.c, ws_join.c, ws_idle.h, ws_prewake.h.
///
/// Letters before a field's comment: I set at init, then read only. O its owner writes, all read. P its
/// owner's thread only. S any thread, atomic.
#ifndef WS_TYPES_H
#define WS_TYPES_H

#include <errno.h>
#include <pthread.h>
#include <stdalign.h>
#include <stddef.h>

#include "../include/ws_record.h"
#include "../os/ws_os.h"
#include "../tasks/ws_tasks.h"

/// Least stack of a worker, without the libraries' thread-local data. Named in ws_pool.h.
#define WS_STACK_BYTES_MIN 65536u
/// Bound of settings.spin_lead_ns.
#define WS_SPIN_LEAD_NS_MAX 10000000
/// Bound of settings.spin_ns_max: what takes longer is a pause between bursts.
#define WS_SPIN_NS_MAX 10000000
/// CPUs and last-level caches that ws_near.h knows.
#define WS_CPUS_MAX 1024u
#define WS_CACHES_MAX 64u

typedef struct ws_worker_s ws_worker_t;

/// Steps of one stack (ws_process.h).
typedef struct {
  ws_step_t *first, *last; ///< queued, the next one first
  uint32_t depth; ///< steps that run inside one another
} ws_steps_t;

/// guard: DORMANT --a task is queued while a worker sleeps--> STANDING --quiet--> DORMANT;
///        any --stop--> ENDED
enum { WS_GUARD_DORMANT, WS_GUARD_STANDING, WS_GUARD_ENDED };

/// The start of a worker: BEGINS --its thread has set itself up--> DONE
///        BEGINS --WS_START_NS_MAX is over--> LATE --its thread has set itself up--> DONE
/// Until then a late one counts as blocked, and not as awake in the process.
enum { WS_START_BEGINS, WS_START_LATE, WS_START_DONE };
typedef struct {
  ws_au32_t state; ///< S WS_START_*; fields that its thread sets are valid when it is DONE
  int pin_error, class_error; ///< I the system's error, 0 = done
  uint64_t slack_ns; ///< I timer slack that its thread had before
} ws_started_t;

/// How long a creation waits while no thread starts: their CPUs may be held by others. Named in ws_pool.h.
#define WS_START_NS_MAX 2000000000u
/// In pool->started: the number of workers, and beside it two bits.
#define WS_STARTED_WORKERS (WS_STARTED_GUARD - 1)
#define WS_STARTED_GUARD (1u << 30)
#define WS_STARTED_ALL (1u << 31)

/// A worker's state. Running: it runs tasks, or waits for a dispatcher (wide/ws_dispatch.c). Searching: it
/// looks for a task, or was claimed and will. Parked: it is about to sleep, or sleeps.
///   RUNNING --begins to search--> SEARCHING --finds a task--> RUNNING
///   RUNNING, SEARCHING --parks--> PARKED --is claimed (ws_wake.h)--> SEARCHING
/// RELIED: a searching worker that is in pool->searching, so pushes rely on it. A searching worker without
/// RELIED gets no CPU, as the guard has found: it is in tasks->starved until it has one again. The thread
/// that changes RELIED changes the counts.
enum {
  WS_STATE_RUNNING,
  WS_STATE_SEARCHING,
  WS_STATE_PARKED,
  WS_STATES = 4,
  WS_STATE_RELIED = 4,
  WS_STATE_CALLED = 8, ///< another thread has woken it, and it has not found a task since
  WS_STATE_DOMAIN = 16 ///< times the domain in whose count it is
};

/// A worker's planned timer wake.
typedef struct {
  uint64_t rise_ns; ///< when the timer fires; 0 = no timer
  uint64_t give_up_ns; ///< how long the worker then spins without work
  uint64_t expected_ns; ///< when the burst is expected
  int32_t phase; ///< of the predictor; -1 = the burst is from a hint
  int64_t late_ns_max; ///< how late such bursts came at most, lately
  bool tries; ///< it is not thought to be worth its cost, and shows whether that is still so
} ws_plan_t;

/// The state of pre-wake for a pool, and for a worker: private to prewake/.
typedef struct ws_prewake_pool_s ws_prewake_pool_t;
typedef struct ws_prewake_worker_s ws_prewake_worker_t;

struct ws_worker_s {
  ws_queue_t queue; ///< first: a worker's queue is pool->tasks.queue[index]
  alignas(WS_SPACING) ws_inbox_t inbox;
  /// S futex: 1 = wake up. Set once by the thread that takes the worker's bit out of pool->sleepers,
  /// cleared by the worker.
  alignas(WS_SPACING) ws_au32_t token;
  ws_au32_t state; ///< S WS_STATE_*
  /// Whether a worker gets a CPU.
  struct {
    uint64_t look; ///< P the guard's: number of its last look at which the worker was awake and tasks waited
    uint64_t cpu_ns; ///< P the guard's: CPU time that it had used then
    ws_au64_t starved_ns; ///< S when the guard stopped relying on it
    ws_au64_t shun_until_ns; ///< O until then other workers are preferred, because it got no CPU; 0 = never
  } watched;
  /// On which CPU a worker is (ws_near.h, sleep/ws_place.h).
  struct {
    ws_au32_t seen_cpu; ///< S CPU + 1 where it was last seen; 0 = nowhere yet
    uint32_t cache; ///< P 1 + the last-level cache where it was last seen; 0 = nowhere yet, or not known
    uint64_t tried_ns; ///< P when it last tried to leave a producer's CPU
    ws_confine_t confine; ///< while it sleeps: off the producer's CPU
  } placed;
  struct ws_pool_s *pool; ///< I
  uint32_t index; ///< I
  int32_t cpu; ///< I pinned to, -1 = floats
  bool realtime; ///< I
  uint32_t priority; ///< I its real-time priority; 0 = another class
  char name[16]; ///< I of its thread
  ws_started_t start; ///< how its start went
  ws_au32_t tid; ///< O 0 = its thread has not begun
  pthread_t thread; ///< I
  uint32_t *victims; ///< I indices of the other workers, near ones first
  uint64_t out_of_work_ns; ///< P when it last ran out of work
  /// P consecutive tasks of one group that have run, and are not completed yet
  struct {
    ws_group_t *group;
    uint32_t tasks;
  } due;
  bool was_handed; ///< P its last task was handed over, or came from a dispatcher
  ws_au64_t alarm_ns; ///< O its timer while it sleeps, counted in pool->armed; 0 = none
  uint64_t called_ns; ///< when it was woken: its claimer, before the token
  uint32_t called_cpu; ///< CPU + 1 of its claimer: the claimer, before the token; 0 = unknown
  uint64_t slept_ns, rose_ns; ///< P when it last parked, and last woke
  double react_ns; ///< P usual time from a push's wake to its first instruction; 0 = not known
  /// How long a worker spins (sleep/ws_budget.h).
  struct {
    uint64_t until_ns; ///< what pre-wake expects
    int64_t allowance_ns; ///< time that it may still spin
    uint64_t allowed_ns; ///< when allowance_ns was computed
  } spin;
  ws_prewake_worker_t *prewake; ///< I the state of pre-wake for it
  /// How a worker spends its time: for the statistics (ws_stats.h).
  struct {
    ws_au32_t state; ///< O ws_worker_state_t
    ws_au64_t since_ns; ///< O when that began
    ws_au64_t ns[WS_WORKER_STATES]; ///< O time in each state, without the present one
  } spent;
};

/// @return the kernel's number of its thread; 0 = not known yet
static inline int32_t ws_tid(const ws_worker_t *worker)
{
  return (int32_t)ws_hint_load(&worker->tid);
}

/// state: RUNNING --stop--> DRAINING | ABORTING --all done--> STOPPED
///        any --the process forks--> LOST, in the child: the pool's threads are not there
typedef enum { WS_RUNNING, WS_DRAINING, WS_ABORTING, WS_STOPPED, WS_LOST } ws_state_t;

/// What an abort calls for a task with that function, in place of settings.skipped.
typedef struct ws_skip_s {
  void (*func)(void *arg);
  void (*skip)(void *arg);
  bool as_task; ///< it runs in the task's place: it may push and join
  const struct ws_skip_s *next;
} ws_skip_t;

struct ws_pool_s {
  ws_tasks_t tasks; ///< where tasks wait

  // Read by every push and every search; written when a worker falls asleep, wakes or begins to search.

  /// S bit w: worker w is parked and not claimed.
  /// Legal: set while w still searches (it looks again afterwards). Illegal: clear, no token under way, and w
  /// asleep.
  alignas(WS_SPACING) ws_au64_t sleepers[WS_MASK_WORDS];
  /// S workers of each domain that search, and claimed workers, which will search. Pushes wake no worker
  /// while one of these is not 0. A small pool uses the first. In a wide one all workers that find tasks at
  /// once would contend for one line.
  /// Legal: too high for a moment; counting a worker that has no CPU, while the guard stands.
  /// Illegal: counting one that will not look again.
  struct {
    alignas(WS_SPACING) ws_au32_t workers;
  } searching[WS_DOMAINS_MAX];

  // Read by every push; written seldom.
  /// S 1 = the next push is the first after a pause, and notes the time
  alignas(WS_SPACING) ws_au32_t quiet;
  ws_au32_t blocked; ///< S workers that sleep in a join: not parked, not at work
  ws_au32_t shunned; ///< S 1 = some worker has been starved since the pool was made
  ws_au32_t helpers; ///< S threads that are not workers, awake in a join
  ws_au32_t outside; ///< S 1 = a pushing thread outside is thought to need a CPU. Only a preference
  ws_au32_t producer_cpu; ///< S CPU + 1 where a thread outside pushed or joined last; 0 = nowhere yet
  ws_au32_t
      producer_holds; ///< S 1 = no worker could stop the thread outside that woke one last: its priority
  ws_au32_t lifted; ///< S 1 = all awake workers were found blocked: every worker may be awake
  ws_au32_t guard; ///< S futex of the guard: WS_GUARD_*
  ws_au32_t spin_cpus; ///< S CPUs for the budget of spinning: fewer than cpus when the set shrinks
  /// Waits for the pool (ws_pool_wait).
  struct {
    ws_au32_t waiters; ///< S threads asleep in one
    ws_au32_t times; ///< S futex of those: counts the times that a thread ran out of work
  } idle;
  ws_au32_t state; ///< S ws_state_t
  ws_au64_t announced_ns; ///< S workers spin until then because of a hint: ws_hint.c. Only a budget
  ws_au64_t expected_ns; ///< S time of the burst of the last hint: ws_hint.c. Only a hint
  struct {
    ws_au32_t workers; ///< S that a hint wants awake. Only a hint
    ws_au64_t until_ns; ///< S a later wake is not because of that hint
  } tree; ///< of wakes: ws_hint.c
  ws_au32_t phases; ///< S phases begun and not ended: ws_hint.c. Only a hint
  ws_au32_t spin; ///< S ws_spin_t, and what belongs to it
  ws_au64_t spin_lead_ns; ///< S
  ws_au32_t spin_cpu_max_percent; ///< S
  /// What no thread's own queue counts (ws_counters_t).
  struct {
    ws_au64_t guard_looks; ///< O the guard's
    ws_au64_t spared_wakes; ///< S wakes left out because the worker would have stopped the producer
    ws_au64_t starved_searches; ///< O the guard's: times that it stopped relying on a worker
    ws_au64_t skipped; ///< S tasks skipped by an abort
    ws_au64_t laneless_pushed; ///< S tasks pushed by threads without a lane
    ws_au64_t laneless_run; ///< S tasks run inline or late by threads without a lane
    ws_au64_t laneless_inline; ///< S tasks run inline by threads without a lane
  } count;
  ws_au32_t aborted; ///< S 1 = it was, or is, an abort stop

  alignas(WS_SPACING) ws_au64_t cancelled; ///< S tasks with a key that were skipped

  alignas(WS_SPACING) ws_au64_t waking_ns; ///< S time from the call to a worker's first instruction, a median
  ws_au64_t wake_call_ns; ///< S time that the call which wakes a worker takes its caller, a mean
  ws_au32_t armed; ///< S workers with an alarm
  ws_au32_t at_cache[WS_CACHES_MAX]; ///< S workers that were last seen there
  struct {
    ws_au64_t asked_ns; ///< S when the guard was last asked to look at the machine (ws_guard.h)
    ws_au32_t due; ///< S 1 = it has not looked since
  } watch;
  ws_prewake_pool_t *prewake; ///< I the state of pre-wake for the pool

  alignas(WS_SPACING) uint64_t id; ///< I unique in the process: a stale thread-local entry cannot match
  uint32_t workers; ///< I threads obtained
  uint32_t cpus; ///< I CPUs that count: process mask and pinned cores, at most the control group's quota
  uint32_t worker_cpus; ///< I CPUs that the workers can use: fewer than cpus when all are pinned to few
  bool guarded; ///< I more than one worker: the guard looks for tasks that no worker reaches
  bool capped; ///< I workers can outnumber the CPUs: there is a cap on awake workers (ws_awake_limit)
  bool watched; ///< I workers may spin: the guard looks whether the machine has time for it
  pthread_t guard_thread; ///< I
  ws_settings_t settings; ///< I name, cores are not kept
  ws_cpuset_t mask; ///< I CPUs of the process at creation
  /// The last-level caches of the CPUs (ws_near.h).
  struct {
    uint32_t count; ///< 0 = not known
    uint8_t of_cpu[WS_CPUS_MAX]; ///< of each CPU
  } caches;
  struct ws_nodes_s *nodes; ///< I private to classes/; NULL = NUMA nodes make no difference
  const ws_skip_t *skips; ///< I
  ws_worker_t **worker; ///< I

  ws_au32_t started; ///< S futex: workers that have set themselves up, WS_STARTED_GUARD, WS_STARTED_ALL
  pthread_mutex_t lane_lock; ///< taking a lane into use; never on a path that has one
  ws_au64_t inherited_ns; ///< S when a thread last looked for lanes of threads that have ended
  /// The end of a pool.
  struct {
    ws_group_t holds; ///< one for each ws_pool_hold(), before what it pushes is done: an end waits for it
    ws_au32_t destroyed; ///< S 1 = ws_pool_destroy() was called
    bool stays; ///< its memory is not freed. Written by its destroyer
  } end;
  uint32_t pinned, requested; ///< I for statistics
  /// Scheduling classes of the workers.
  struct {
    ws_au32_t realtime; ///< S workers, for statistics: grows when a late one starts
    ws_au32_t priority; ///< S highest real-time priority of a worker; 0 = none has one. Only a hint
  } classes;
  void *block; ///< I one mapping: workers, lanes, first rings
  size_t block_bytes; ///< I
  struct ws_pool_s *next; ///< in the process's list, under its lock
};

_Static_assert(offsetof(struct ws_worker_s, queue) == 0, "a worker's queue is the worker");

/// The calling thread in a pool: its queue, and the worker when it is one.
typedef struct {
  ws_queue_t *queue; ///< NULL: no lane was free
  ws_worker_t *worker; ///< NULL: not a worker of this pool
} ws_here_t;

/// @return whether the pool was made before this process was forked, so that it has no threads here
static inline bool ws_is_lost(const struct ws_pool_s *pool)
{
  return ws_load_relaxed(&pool->state) == WS_LOST; // relaxed: written while the child had one thread
}

/// Low bits of a thread's id hold the kernel's number of the thread, which is below 2^22.
#define WS_TID_BITS 22

/// @return the kernel's number of the thread with that id
static inline int32_t ws_tid_of(uint64_t id)
{
  return (int32_t)(id & ((1u << WS_TID_BITS) - 1));
}

/// @brief Wait until @p bits of pool->started are at least @p least, or nothing has started for @p still_ns
/// (0 = without a limit).
static inline void ws_started_wait(struct ws_pool_s *pool, uint32_t bits, uint32_t least, uint64_t still_ns)
{
  uint32_t seen;
  while (((seen = ws_load_acquire(&pool->started)) & bits) < least) // [edge START acquire] what was set up
    if (ws_os_futex_wait(&pool->started, seen, still_ns) == -ETIMEDOUT)
      return;
}

/// The caller pushes, or will: if it is no worker it needs a CPU of its own.
static inline void ws_note_outside(struct ws_pool_s *pool, ws_here_t here)
{
  if (!here.worker && !ws_hint_load(&pool->outside))
    ws_hint_store(&pool->outside, 1);
}

static inline bool ws_has_sleepers(const struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < pool->tasks.mask_words; i++)
    if (ws_load_relaxed(&pool->sleepers[i])) // relaxed: after the caller's fence [PARK_DEKKER]
      return true;
  return false;
}

/// @return whether a worker searches: of a push after its fence [PARK_DEKKER]
static inline bool ws_is_searched(const struct ws_pool_s *pool)
{
  uint32_t i = 0;
  do
    if (ws_load_relaxed(&pool->searching[i].workers)) // relaxed: see above
      return true;
  while (++i < pool->tasks.domains);
  return false;
}

/// @return workers that search, about
static inline uint32_t ws_searching(const struct ws_pool_s *pool)
{
  uint32_t sum = 0, i = 0;
  do
    sum += ws_hint_load(&pool->searching[i].workers);
  while (++i < pool->tasks.domains);
  return sum;
}

/// @return whether the worker searches, or was claimed and will. Exact for the worker itself: others change
///         its state only while it sleeps, but for RELIED
static inline bool ws_searches(const ws_worker_t *worker)
{
  return ws_hint_load(&worker->state) % WS_STATES == WS_STATE_SEARCHING;
}

static inline uint32_t ws_awake(const struct ws_pool_s *pool)
{
  uint32_t asleep = 0;
  for (uint32_t i = 0; i < pool->tasks.mask_words; i++)
    asleep += (uint32_t)__builtin_popcountll(ws_hint_load(&pool->sleepers[i]));
  return pool->workers - asleep;
}

/// @brief The calling worker is in @p state from @p now_ns on: for the statistics. Costs a few stores to the
/// worker's own lines.
static inline void ws_state_enter(ws_worker_t *worker, ws_worker_state_t state, uint64_t now_ns)
{
  const uint32_t before = ws_own_load(&worker->spent.state);
  const uint64_t since_ns = ws_own_load(&worker->spent.since_ns);
  ws_count(&worker->spent.ns[before], now_ns - since_ns);
  ws_stat_store(&worker->spent.since_ns, now_ns);
  ws_stat_store(&worker->spent.state, state);
}

#endif
