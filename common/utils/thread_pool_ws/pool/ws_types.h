// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_types.h
/// The shared state of a pool, but for the places where tasks wait (ws_tasks.h) and what sleep/ and prewake/
/// keep to themselves. Read this first, then a task's life: ws_push.c, ws_queue.h, ws_wake.h, ws_next.h,
/// ws_worker.c, ws_run.h, ws_group.c, ws_join.c, ws_idle.h, ws_prewake.h.
///
/// Letters before a field's comment: I set at init, then read only. O its owner writes, all read. P its
/// owner's thread only. S any thread, atomic.
#ifndef WS_TYPES_H
#define WS_TYPES_H

#include <signal.h>

#include "../base/ws_histogram.h" // IWYU pragma: export
#include "../include/ws_record.h" // IWYU pragma: export
#include "../os/ws_os.h" // IWYU pragma: export
#include "../tasks/ws_tasks.h" // IWYU pragma: export

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

/// Steps of one stack (ws_steps.h).
typedef struct {
  ws_step_t *first, *last; ///< queued, the next one first
  uint32_t depth; ///< steps that run inside one another
  const struct ws_piece_s *piece; ///< of a loop, the innermost on this stack: private to parallel/
} ws_steps_t;

/// The start of a worker: BEGINS --its thread has set itself up--> DONE
///        BEGINS --the creation waits no longer, or it has no thread--> BEHIND --its thread has set itself
///        up--> DONE
/// Until then one that is behind counts as blocked, and not as awake in the process.
enum { WS_START_BEGINS, WS_START_BEHIND, WS_START_DONE };
typedef struct {
  ws_au32_t state; ///< S WS_START_*; fields that its thread sets are valid when it is DONE
  int pin_error, class_error; ///< I the system's error, 0 = done
  uint32_t priority; ///< I its real-time priority; 0 = another class
  uint64_t slack_ns; ///< I timer slack that its thread had before
} ws_started_t;

/// How long a creation waits while no thread starts: their CPUs may be held by others. And how long it tries
/// to make the guard's thread, and the first worker's. Named in ws_pool.h.
#define WS_START_NS_MAX 2000000000u
/// In pool->started: the number of workers that have set themselves up, and beside it two bits. GUARD: so has
/// the guard, or it has found workers missing. ALL: the pool is made, and its threads may go on.
#define WS_STARTED_WORKERS (WS_STARTED_GUARD - 1)
#define WS_STARTED_GUARD (1u << 30)
#define WS_STARTED_ALL (1u << 31)

/// The state of pre-wake for a pool, and for a worker: private to prewake/.
typedef struct ws_prewake_pool_s ws_prewake_pool_t;
typedef struct ws_prewake_worker_s ws_prewake_worker_t;

/// Bytes of the state of sleep/ in a pool, and in a worker: private to it (ws_sleep_state.h).
#define WS_SLEEP_POOL_BYTES ((WS_DOMAINS_MAX + 4) * WS_SPACING)
#define WS_SLEEP_WORKER_BYTES 3216

/// Stays: the thread is thought to go on, and to run tasks. Holds: its priority is such that no worker could
/// stop it.
enum { WS_PRODUCER_CPU = 0xffff, WS_PRODUCER_STAYS = 0x10000, WS_PRODUCER_HOLDS = 0x20000 };

/// Where threads are (ws_near.h): of a pool.
typedef struct {
  /// S the thread outside, with a lane, that was last about to wake a worker, or began to help (ws_helper.h):
  /// CPU + 1, or 0 if that is not known, and WS_PRODUCER_*; 0 = none yet. Only a hint
  ws_au32_t producer;
  uint32_t caches; ///< I last-level caches; 0 = not known
  uint8_t cache_of_cpu[WS_CPUS_MAX]; ///< I
} ws_near_pool_t;

struct ws_worker_s {
  ws_queue_t queue; ///< first: a worker's queue is pool->tasks.queue[index]
  alignas(WS_SPACING) ws_inbox_t inbox;
  /// S CPU + 1 where it was last seen; 0 = nowhere yet. A wake reads that, and what begins sleep[]
  alignas(WS_SPACING) ws_au32_t seen_cpu;
  alignas(8) unsigned char sleep[WS_SLEEP_WORKER_BYTES]; ///< the state of sleep/ for it
  struct ws_pool_s *pool; ///< I
  uint32_t index; ///< I
  int32_t cpu; ///< I pinned to, -1 = floats
  bool realtime; ///< I
  char name[16]; ///< I of its thread
  ws_started_t start; ///< how its start went
  ws_au32_t tid; ///< O 0 = its thread has not begun
  pthread_t thread; ///< I
  uint32_t *victims; ///< I indices of the other workers, near ones first
  /// P consecutive tasks of one group that have run, and are not completed yet
  struct {
    ws_group_t *group;
    uint32_t tasks;
  } due;
  bool was_handed; ///< P its last task was handed over, or came from a dispatcher
  ws_prewake_worker_t *prewake; ///< I the state of pre-wake for it
};

/// @return the kernel's number of its thread; 0 = not known yet
static inline int32_t ws_tid(const ws_worker_t *worker)
{
  return (int32_t)ws_hint_load(&worker->tid);
}

/// state: RUNNING --stop--> DRAINING | ABORTING --all done--> STOPPED
///        any --the process forks--> LOST, in the child: the pool's threads are not there
typedef enum { WS_RUNNING, WS_DRAINING, WS_ABORTING, WS_STOPPED, WS_LOST } ws_state_t;

/// How its tasks run. NOTED: with events, from the begin on. SKIPPED: it was, or is, an abort stop.
typedef enum { WS_RUNS_PLAINLY, WS_RUNS_NOTED, WS_RUNS_SKIPPED } ws_runs_t;

/// What an abort calls for a task with that function, in place of settings.skipped.
typedef struct ws_skip_s {
  void (*func)(void *arg);
  void (*skip)(void *arg);
  bool as_task; ///< it runs in the task's place: it may push and join
  const struct ws_skip_s *next;
} ws_skip_t;

/// The page of a pool (page/ws_page.h). All 0 = it has none.
typedef struct {
  void (*look)(struct ws_pool_s *pool); ///< the guard's, after each of its sleeps
  uint64_t sleep_ns; ///< the guard sleeps no longer; 0 = without a limit
  ws_histogram_t *starts; ///< times from a burst's first push to its first task on a worker, which adds them
  struct ws_page_memory_s *memory; ///< private to page/
} ws_live_t;

struct ws_pool_s {
  ws_tasks_t tasks; ///< where tasks wait

  alignas(WS_SPACING) unsigned char sleep[WS_SLEEP_POOL_BYTES]; ///< the state of sleep/

  // Read by every push; written seldom.
  /// S 1 = the next push is the first after a pause, and notes the time
  alignas(WS_SPACING) ws_au32_t quiet;
  ws_au32_t state; ///< S ws_state_t
  /// What no thread's own queue counts (ws_counters_t).
  struct {
    ws_au64_t skipped; ///< S tasks skipped by an abort
    ws_au64_t laneless_pushed; ///< S tasks pushed by threads without a lane
    ws_au64_t laneless_run; ///< S tasks that threads without a lane have run, or skipped
    ws_au64_t laneless_inline; ///< S tasks run inline by threads without a lane
  } count;
  ws_au32_t runs; ///< S ws_runs_t

  alignas(WS_SPACING) ws_au64_t cancelled; ///< S tasks with a key that were skipped

  ws_au32_t idle_waiters; ///< S threads that sleep until the pool is idle, in a wait for it or in its stop
  ws_au32_t idle_times; ///< S futex of those: counts wakes by threads that ran out of work
  alignas(WS_SPACING) ws_near_pool_t near; ///< where threads are
  ws_prewake_pool_t *prewake; ///< I the state of pre-wake for the pool

  alignas(WS_SPACING) uint64_t id; ///< I unique in the process: a stale thread-local entry cannot match
  uint32_t workers; ///< I those that have a thread, and those that may get one later
  ws_au32_t obtained; ///< S workers that have a thread, the first ones; the others are BEHIND
  uint32_t allowed_cpus; ///< I CPUs on which its threads may run: process mask and pinned cores
  uint32_t cpus; ///< I CPUs that count: those, at most the control group's quota
  uint32_t worker_cpus; ///< I CPUs that the workers can use: fewer than cpus when all are pinned to few
  ws_settings_t settings; ///< I name, cores are not kept
  ws_cpuset_t mask; ///< I CPUs of the process at creation
  struct ws_nodes_s *nodes; ///< I private to classes/; NULL = NUMA nodes make no difference
  const ws_skip_t *skips; ///< I
  ws_worker_t **worker; ///< I

  ws_au32_t started; ///< S futex: workers that have set themselves up, WS_STARTED_GUARD, WS_STARTED_ALL
  /// I the guard's: try once more to make the workers without a thread; NULL = there are none, or none can be
  /// made. @return whether there were any
  bool (*make_missing)(struct ws_pool_s *pool);
  sigset_t signals; ///< I that its creator has blocked: its workers' mask, too
  pthread_mutex_t lane_lock; ///< to take a new lane into use; no push of a thread that has a lane needs it
  ws_au64_t inherited_ns; ///< S when a thread last looked for lanes of threads that have ended
  /// The end of a pool.
  struct {
    ws_group_t holds; ///< one for each ws_pool_hold(), before what it pushes is done: an end waits for it
    ws_au32_t destroyed; ///< S 1 = ws_pool_destroy() was called
    bool stays; ///< its memory is not freed. Written by its destroyer
  } end;
  uint32_t pinned, requested; ///< I workers that are pinned; that settings.workers has asked for
  void *block; ///< I one mapping of most of its memory: lay_out() in ws_pool.c
  size_t block_bytes; ///< I
  struct ws_pool_s *next; ///< in the process's list, under ws_process.pools_lock
  ws_live_t live; ///< I
  ws_aptr_t ledger; ///< S private to record/; NULL = its bursts are not judged, and it makes no events there
};

_Static_assert(offsetof(struct ws_worker_s, queue) == 0, "a worker's queue is the worker");

/// The calling thread in a pool: its queue, and the worker when it is one.
typedef struct {
  ws_queue_t *queue; ///< NULL: no lane was free, or none was looked for (ws_here_known())
  ws_worker_t *worker; ///< NULL: not a worker of this pool
} ws_here_t;

/// @return whether some worker has a thread; else a push runs its tasks
static inline bool ws_has_threads(const struct ws_pool_s *pool)
{
  return ws_hint_load(&pool->obtained) > 0; // it does not become 0 again
}

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

#endif
