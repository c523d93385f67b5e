// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_process.h
/// State that all pools of the process share, and thread-local state. With ws_os_process.c,
/// ws_os_relax.c, ws_block.c, ws_probe.c, ws_page.c and record/ the core's only mutable state outside a pool.
#ifndef WS_PROCESS_H
#define WS_PROCESS_H

#include "../include/ws_trace_slot.h" // IWYU pragma: export
#include "ws_types.h" // IWYU pragma: export

/// Pools that a thread finds its lane in without a search.
#define WS_LANE_CACHE 8

typedef struct {
  uint64_t pool_id; ///< 0 = unused
  ws_queue_t *lane;
} ws_lane_ref_t;

/// A phase of a slot (ws_trace_slot.h), with the numbers of its first begin.
typedef struct {
  bool is_open;
  uint32_t frame, slot, id;
  uint64_t pushed_before; ///< tasks, by its thread
} ws_traced_phase_t;

/// A task that a thread has begun in a pool where it had no lane, inline or late. Lies on its stack.
typedef struct ws_laneless_s {
  uint64_t pool; ///< id
  ws_queue_t *lane; ///< the lane that the thread has taken since, with this task in its depth; NULL = none
  struct ws_laneless_s *outer; ///< the one around it, of any pool; NULL = none
} ws_laneless_t;

typedef struct {
  ws_worker_t *worker; ///< the worker that this thread is, or NULL
  ws_queue_t *helps; ///< its lane in the pool that it helps in, the innermost of several; NULL = none
  uint32_t active_slots; ///< CPU slots that it has as a helper; not counted for a worker
  uint32_t blocking; ///< blocking sections that it is in
  bool observing; ///< it is inside an observer
  bool may_end; ///< its thread ends as it slept for an event: it may leave that wait, and no other frame
  uint32_t waits; ///< that have returned, those inside tasks apart; counted with tracing only
  const ws_task_t *task; ///< that it runs, the innermost; NULL = none
  /// Pool of that task, or of the wait or stop that it is in since, or a worker's own; NULL = there is none.
  struct ws_pool_s *runs_in;
  uint64_t id; ///< of this thread in the process, 0 = none yet
  uint64_t pushed; ///< tasks, to all pools
  ws_traced_phase_t phase[WS_TRACE_PHASES];
  ws_laneless_t *laneless; ///< tasks of pools where it had no lane, the innermost; NULL = none
  ws_steps_t steps; ///< of the thread's own stack
  struct ws_event_ring_s *ring; ///< its events (record/); NULL = it has made none
  void (*leave)(struct ws_event_ring_s *ring); ///< gives it back when the thread ends; NULL = it has none
  uint32_t next; ///< cache entry to replace next
  ws_lane_ref_t lane[WS_LANE_CACHE];
} ws_self_t;

extern _Thread_local WS_FOR_FIBERS ws_self_t ws_self_state;

/// @return the calling thread's own state
static inline ws_self_t *ws_self(void)
{
  return &ws_self_state;
}

/// @brief Give the calling thread an id, unless it has one, and have its lanes freed when it ends. No other
/// thread of the process ever has that id. The C library does not report that end if no thread-specific key
/// is free, or if a destructor of the thread's own data pushes in the last round of destructors: then other
/// threads inherit the lanes (ws_lane.c).
/// @return the id; ws_tid_of() finds the kernel's number of the thread in it
uint64_t ws_process_enroll(ws_self_t *self);

/// @brief Have the calling thread leave what it has when it ends: lanes, shelves of blocks (ws_blocks_end()),
/// its ring of events. @return false = the C library would not report the end: the host has used up the
/// process's thread-specific keys, there is no memory for this thread's, or the library is unloaded
bool ws_process_see_end(ws_self_t *self);

/// @brief Called when the library is loaded, and for each pool. From then on the child of each fork of this
/// process can make pools, and end by exit(), whatever the parent's threads did. The pools of the parent
/// become LOST in it, and its thread leaves them.
void ws_process_watch_forks(void);

/// Add to, and take from, the list of pools: those whose lanes a thread leaves when it ends, and that a fork
/// makes LOST in the child. A pool that is taken from the list must be in it.
void ws_process_add(struct ws_pool_s *pool);
void ws_process_remove(struct ws_pool_s *pool);

/// What all pools of the process share. The locks and what they guard are ws_process.c's own, but for
/// pools_lock and first, which record/ uses, too.
typedef struct {
  pthread_mutex_t lock; ///< of the key and watches_forks: a thread's first push, a new pool. No fork takes it
  /// Of first, and of what record/ begins and ends: birth and death of pools, a thread's end, a fork.
  pthread_mutex_t pools_lock;
  struct ws_pool_s *first;
  ws_au64_t pool_ids, thread_ids; ///< S given so far
  /// S workers that are neither parked nor blocked (ws_helper.h): the budget that spinning must fit in
  alignas(WS_SPACING) ws_au32_t awake;
  ws_au32_t helpers; ///< S threads that are workers of no pool and have an active slot (ws_helper.h)
  ws_aptr_t hooks; ///< S const ws_hooks_t
  uint32_t forks; ///< I between the program's start and this process: a child may have its parent's number
  ws_au32_t refusals; ///< S looks at a variable that must not be read
  pthread_key_t key; ///< its destructor runs when a thread ends that has called ws_process_see_end()
  enum { WS_KEY_UNKNOWN, WS_KEY_MADE, WS_KEY_NONE } key_state;
  bool watches_forks; ///< the handlers of pthread_atfork() are there
} ws_process_t;
extern ws_process_t ws_process;

/// @brief Take the caller, a worker, off the awake ones if there are more than @p limit. @return whether it
/// was
bool ws_process_awake_leave(uint32_t limit);

/// What the core calls in a library above it, the fibers.
typedef struct {
  /// Wait for the group, at most until @p until_ns (CLOCK_MONOTONIC; 0 = no limit), or for the event, if the
  /// calling thread runs on a fiber's stack. @return false = it does not
  bool (*wait)(ws_group_t *group, const ws_event_t *event, uint64_t until_ns);
  /// @return the steps of the fiber whose code the calling thread runs; NULL = it runs none
  ws_steps_t *(*steps)(void);
  /// A group for which a fiber may wait is complete. It may be gone.
  void (*completed)(const void *group);
  /// A pool that aborts has taken a task from a queue. @return whether it is a fiber's: then @p instead runs
  bool (*aborts)(const ws_task_t *task, ws_task_t *instead);
  /// The pool begins to abort.
  void (*aborted)(struct ws_pool_s *pool);
} ws_hooks_t;

/// @brief Have the core call @p hooks from now on.
WS_FOR_FIBERS void ws_process_hook(const ws_hooks_t *hooks);
/// @return NULL = no fiber was ever made
const ws_hooks_t *ws_process_hooks(void);

#endif
