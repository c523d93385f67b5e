// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_sleep_state.h
/// The state of this room, for a pool and for a worker: which workers sleep, search, and may be awake.
/// Private: other rooms tell events (ws_wake.h, ws_idle.h, ws_helper.h). It lies in bytes of the pool and of
/// the worker, because a pointer to it would cost each push a load.
///
/// Letters as in ws_types.h.
#ifndef WS_SLEEP_STATE_H
#define WS_SLEEP_STATE_H

#include "../include/ws_stats.h" // IWYU pragma: export
#include "../pool/ws_types.h" // IWYU pragma: export

/// guard: DORMANT --a task is queued while a worker sleeps, or handed to one, a wake is spared, or a queue
///        has shrunk--> STANDING; STANDING --quiet--> DORMANT;
///        any --stop--> ENDED
enum { WS_GUARD_DORMANT, WS_GUARD_STANDING, WS_GUARD_ENDED, WS_GUARD_STATES };
/// Park.tla has no ENDED.
static const uint32_t ws_guard_changes[WS_GUARD_STATES] = {
    [WS_GUARD_DORMANT] = WS_TO(WS_GUARD_STANDING) | WS_TO(WS_GUARD_ENDED),
    [WS_GUARD_STANDING] = WS_TO(WS_GUARD_DORMANT) | WS_TO(WS_GUARD_ENDED),
};

/// Of a task: the unit of tasks_a_wake, as a task may last longer than a wake.
#define WS_WAKE_PARTS 16u

/// Of a pool.
typedef struct {
  // Read by every push and every search; written when a worker falls asleep, wakes or begins to search.
  /// S bit w: worker w is parked and not claimed.
  /// Legal: set while w is still awake: it looks at the queues once more before it sleeps. Illegal: clear, no
  /// token under way, and w asleep.
  alignas(WS_SPACING) ws_au64_t sleepers[WS_MASK_WORDS];
  /// S workers of each domain that search, and claimed workers, which will search. A push wakes no worker
  /// while one of these is not 0, but for a burst. Without domains the first. With many workers all those
  /// that find tasks at once would contend for one line.
  /// Legal: too high for a moment; counting a worker that has no CPU, while the guard stands.
  /// Illegal: counting one that will not look again.
  struct {
    alignas(WS_SPACING) ws_au32_t workers;
  } searching[WS_DOMAINS_MAX];

  // Read by every push; written seldom.
  /// S 1 = a pushing thread outside is thought to need a CPU. Only a preference
  alignas(WS_SPACING) ws_au32_t outside;
  ws_au32_t guard; ///< S futex of the guard: WS_GUARD_*
  ws_au32_t blocked; ///< S workers that sleep in a join, block, or are behind at their start
  ws_au32_t starved; ///< S workers that were searching and got no CPU: not parked, not at work
  ws_au32_t calls_a_wake; ///< S wakes that a thread can make in the time that one worker takes to rise
  ws_au32_t tasks_a_wake; ///< S tasks that a thread runs in the time of a wake, in 1/WS_WAKE_PARTS
  ws_au32_t helpers; ///< S active slots of threads that are not workers of this pool (ws_helper.h)
  /// S 1 = all awake workers were found blocked, or no task moved on for 10 ms: every worker may be awake
  ws_au32_t lifted;
  ws_au32_t cap; ///< S most workers awake, beside the cap of the CPUs; 0 = no cap at all
  ws_au32_t spin_cpus; ///< S CPUs for the budget of spinning: fewer than cpus if set or quota shrinks
  ws_au64_t announced_ns; ///< S workers spin until then because of a hint: ws_hint.c. Only a budget
  ws_au32_t phases; ///< S phases begun and not ended: ws_hint.c. Only a hint
  ws_au32_t spin; ///< S ws_spin_t, and what belongs to it
  ws_au64_t spin_lead_ns; ///< S
  ws_au32_t spin_percent; ///< S
  ws_au32_t priority; ///< S highest real-time priority of a worker; 0 = none has one. Only a hint
  /// What no thread's own queue counts.
  struct {
    ws_au64_t guard_looks; ///< O the guard's
    ws_au64_t laneless_wakes; ///< S by threads without a lane
    ws_au64_t spared_wakes; ///< S wakes left out because the worker would have stopped the producer
    ws_au64_t starved_searches; ///< O the guard's: times that it stopped relying on a worker
    ws_au64_t decided[WS_DECISIONS]; ///< S by callers without a queue: ws_ask()
  } count;
  /// S time that the call which wakes a worker takes its caller, a mean
  alignas(WS_SPACING) ws_au64_t call_ns;
  ws_au64_t task_ns; ///< S time of a task that a worker runs, a mean
  struct {
    ws_au64_t asked_ns; ///< S when the guard was last asked to look at the machine (ws_watch.h)
    ws_au32_t due; ///< S 1 = it has not looked since
  } watch;
  bool guarded; ///< I a guard and more than one worker: it looks for tasks that no worker reaches
  /// I workers outnumber the CPUs that they can use, or those that one thread outside leaves: there is always
  /// a cap on awake workers (ws_awake_limit)
  bool bounded;
  bool has_guard; ///< I there is a guard, which looks at the machine's CPUs and quota
  bool spares; ///< I the guard wakes workers that are pinned to the CPU of a producer which runs
  pthread_t guard_thread; ///< I
  ws_au32_t guard_tid; ///< O the guard's; 0 = it has not begun, or workers are missing
} ws_sleep_pool_t;

/// A worker's state. Running: it runs tasks, or waits for a dispatcher (wide/ws_dispatch.c). Searching: it
/// looks for a task, or was claimed and will. Parked: it is about to sleep, or sleeps.
///   RUNNING --begins to search--> SEARCHING --finds a task--> RUNNING
///   RUNNING, SEARCHING --parks--> PARKED --is claimed (ws_wake.h)--> SEARCHING
/// RELIED: a searching worker that is counted in searching, so pushes rely on it. A searching worker without
/// RELIED gets no CPU, as the guard has found: it is counted in starved until it has one again. The thread
/// that changes RELIED changes the counts.
enum {
  WS_STATE_RUNNING,
  WS_STATE_SEARCHING,
  WS_STATE_PARKED,
  WS_STATES = 4,
  WS_STATE_RELIED = 4,
  WS_STATE_CALLED = 8, ///< another thread has woken it; until it finds a task, or parks
  WS_STATE_DOMAIN = 16, ///< times the domain in whose count it is
  WS_STATE_SEARCHES = WS_STATE_SEARCHING + WS_STATE_RELIED
};
/// Park.tla has these without CALLED: SEARCHES is "relied" there, SEARCHING alone is "starved". A worker
/// that has a CPU again passes RUNNING, and stays CALLED.
static const uint32_t ws_state_changes[WS_STATE_DOMAIN] = {
    [WS_STATE_RUNNING] =
        WS_TO(WS_STATE_SEARCHES) | WS_TO(WS_STATE_SEARCHES + WS_STATE_CALLED) | WS_TO(WS_STATE_PARKED),
    [WS_STATE_SEARCHES] = WS_TO(WS_STATE_RUNNING) | WS_TO(WS_STATE_PARKED) | WS_TO(WS_STATE_SEARCHING),
    [WS_STATE_SEARCHES + WS_STATE_CALLED] =
        WS_TO(WS_STATE_RUNNING) | WS_TO(WS_STATE_PARKED) | WS_TO(WS_STATE_SEARCHING + WS_STATE_CALLED),
    [WS_STATE_SEARCHING] = WS_TO(WS_STATE_RUNNING) | WS_TO(WS_STATE_PARKED),
    [WS_STATE_SEARCHING + WS_STATE_CALLED] = WS_TO(WS_STATE_RUNNING) | WS_TO(WS_STATE_PARKED),
    [WS_STATE_PARKED] = WS_TO(WS_STATE_SEARCHES) | WS_TO(WS_STATE_SEARCHES + WS_STATE_CALLED),
};

/// Of a worker.
typedef struct {
  /// S futex: 1 = wake up. Set once by another thread that takes the worker's bit out of sleepers, cleared by
  /// the worker.
  ws_au32_t token;
  ws_au32_t state; ///< S WS_STATE_*
  /// Whether the worker gets a CPU.
  struct {
    uint64_t look; ///< P the guard's: number of its last look at which the worker was awake and tasks waited
    uint64_t cpu_ns; ///< P the guard's: CPU time that it had used then
  } watched;
  ws_au64_t alarm_ns; ///< O its timer while it sleeps; 0 = none
  /// when another thread called it: that thread writes it before the token; 0 = none has, or ws_wake_all()
  uint64_t called_ns;
  uint32_t called_cpu; ///< CPU + 1 of that thread, written with called_ns; 0 = unknown, or the guard
  uint64_t tried_ns; ///< P when it last tried to leave a producer's CPU
  ws_confine_t confine; ///< the CPU that it is kept off, a producer's
  uint64_t rose_ns; ///< P when it last woke
  uint64_t run; ///< P tasks that it had run when it was last out of work
  /// How long it spins (ws_budget.h).
  struct {
    int64_t allowance_ns; ///< time that it may still spin; below 0 = its debt
    uint64_t allowed_ns; ///< when allowance_ns was computed
  } spin;
  /// How it spends its time: for the statistics (ws_stats.h).
  struct {
    ws_au32_t state; ///< O ws_worker_state_t
    ws_au64_t since_ns; ///< O when that began
    ws_au64_t ns[WS_WORKER_STATES]; ///< O time in each state, without the present one
  } spent;
} ws_sleep_worker_t;

_Static_assert(sizeof(ws_sleep_pool_t) == WS_SLEEP_POOL_BYTES, "the pool's bytes");
_Static_assert(sizeof(ws_sleep_worker_t) == WS_SLEEP_WORKER_BYTES, "the worker's bytes");

static inline ws_sleep_pool_t *ws_sleep_pool(const struct ws_pool_s *pool)
{
  return (ws_sleep_pool_t *)(void *)(uintptr_t)pool->sleep;
}

/// @brief The guard's state becomes @p to, if it is @p from. @return whether it was
static inline bool ws_guard_change(ws_au32_t *guard, uint32_t from, uint32_t to)
{
  WS_CHANGES(ws_guard_changes, from, to);
  return ws_cas_acq_rel(guard, &from, to); // [edge GUARD_DEKKER acq_rel]
}

static inline ws_sleep_worker_t *ws_sleep_worker(const ws_worker_t *worker)
{
  return (ws_sleep_worker_t *)(void *)(uintptr_t)worker->sleep;
}

#endif
