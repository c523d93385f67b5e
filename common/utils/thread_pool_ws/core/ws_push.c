// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_push.c
/// Life of a task, step 1: push. The task goes to a worker that waits for one, into the caller's own deque
/// (found by ws_lane.h), or into a pool-wide queue; then one decision which worker to wake. After:
/// ws_queue.h.
#include "ws_push.h"

#include "../classes/ws_classes.h"
#include "../pool/ws_callback.h"
#include "../pool/ws_lane.h"
#include "../prewake/ws_prewake.h"
#include "../sleep/ws_wake.h"
#include "../tasks/ws_inbox.h"
#include "../tasks/ws_queue.h"
#include "../tasks/ws_shared.h"
#include "../trace/ws_traced.h"
#include "ws_next.h"
#include "ws_run.h"

/// A pool that stops refuses tasks, except those that its own tasks push, because these may wait for them.
/// After a fork no thread of the child is inside a pool of the parent.
/// @return 0 = the pool takes tasks; -ECANCELED = it stops, or has stopped; -ESRCH = it is lost by a fork
static inline int refusal_of(const struct ws_pool_s *pool, ws_here_t here)
{
  // relaxed: ws_run_left() finds a late push
  if (WS_LIKELY(ws_load_relaxed(&pool->state) == WS_RUNNING) || ws_is_inside(pool, here))
    return 0;
  return ws_is_lost(pool) ? -ESRCH : -ECANCELED;
}

WS_SELDOM void ws_run_left(struct ws_pool_s *pool, ws_here_t here)
{
  ws_task_t task;
  while (ws_next_left(pool, &task))
    ws_run_late(pool, here, &task);
}

// A pool that a task destroys is not freed while a push reads it: that of the task, or of one that led to it.
// The end of the pool comes after the task, which comes after the begin of its push.

static inline void begin_push(ws_queue_t *queue)
{
  ws_store_relaxed(&queue->in_push, 1); // relaxed: published with the task
}

/// The pool may be gone after this.
static inline void end_push(ws_queue_t *queue)
{
  ws_store_release(&queue->in_push, 0); // [edge PUSH_END release] the reads of the pool
}

/// The caller pushes: note that it needs a CPU, if it is a thread outside, and the time, if it is the first
/// after a pause.
static void note_push(struct ws_pool_s *pool, ws_here_t here)
{
  ws_note_outside(pool, here);
  if (WS_UNLIKELY(ws_hint_load(&pool->quiet))) // a missed pause is seen by the worker
    ws_prewake_arrived(pool, 0);
}

/// Tasks of a kind were published: see that a thread runs them. A call, which pays: inlined into a push it
/// takes fewer instructions, and empty tasks beside one thief take 1.45 times as long (2 CPUs, Zen).
__attribute__((noinline)) static void announce_tasks(struct ws_pool_s *pool, ws_here_t here, ws_kind_t kind)
{
  note_push(pool, here);
  // [edge PARK_DEKKER fence] [edge STOP_DEKKER fence] The stores of the tasks before the loads of sleepers,
  // searching and state. Without the fence this thread can read that no worker sleeps while a worker that
  // parks reads an empty queue: the task waits, and no worker wakes. A stop can miss the task in the same
  // way.
  ws_fence_seq_cst();
  if (WS_UNLIKELY(ws_load_relaxed(&pool->state) == WS_STOPPED)) // relaxed: after the fence
    ws_run_left(pool, here); // [edge STOP_DEKKER] else the stop's last look finds the task
  else if (WS_UNLIKELY(ws_has_sleepers(pool)))
    ws_post(pool, here, kind);
}

/// Tasks are about to be published: trace and count them.
static inline void note_tasks(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *tasks, uint64_t count)
{
  ws_traced_push(pool, here, tasks, count);
  ws_count_pushed(pool, here.queue, count);
}

/// Move tasks into the caller's queue, which has room for them, and announce them.
static inline void publish(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *tasks, uint64_t count)
{
  ws_queue_push(here.queue, tasks, count);
  announce_tasks(pool, here, WS_KIND_NORMAL);
}

/// Push a normal task to a worker that spins. Only a thread outside does so, in no task, with an empty deque:
/// else older tasks would wait. If each worker that it reserves has left, the task goes to its own deque.
/// @return false = nothing was pushed
static bool hand_over(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  ws_queue_t *queue = here.queue;
  if (here.worker || queue->depth > 0 || ws_deque_size(&queue->deque) > 0
      || !ws_deque_has_room(&queue->deque, 1)) {
    ws_inbox_give_back(&pool->tasks, queue);
    return false;
  }
  note_push(pool, here); // before the worker counts itself among those that take of this burst
  if (!ws_inbox_reserve_more(&pool->tasks, queue))
    return false;
  note_tasks(pool, here, task, 1);
  ws_need_guard(pool); // before, too: the caller may be preempted after the fill
  do {
    if (WS_LIKELY(ws_inbox_hand(&pool->tasks, queue, task))) {
      ws_need_guard(pool); // the worker may get no CPU
      if (WS_UNLIKELY(ws_load_relaxed(&pool->state) == WS_STOPPED)) // relaxed: after the fence of the fill
        ws_run_left(pool, here);
      return true;
    }
    ws_inbox_give_back(&pool->tasks, queue); // the worker has left, and those that were reserved with it, too
  } while (ws_inbox_reserve_more(&pool->tasks, queue));
  publish(pool, here, task, 1);
  return true;
}

/// After this many pushed tasks a grown queue is checked: it may be empty.
#define SHRINK_EVERY 1024u

/// After each SHRINK_EVERY tasks pushed to a grown queue, shrink it if it is empty: for threads that push and
/// never wait. Call before @p count tasks are pushed, because a queue that holds one cannot shrink. It may
/// have room for fewer after this.
static inline void shrink_now_and_then(struct ws_pool_s *pool, ws_queue_t *queue, uint64_t count)
{
  if (queue->deque.level == 0 || WS_LIKELY((queue->since_shrink += count) < SHRINK_EVERY))
    return;
  queue->since_shrink = 0;
  ws_give_back(pool, queue);
}

static void push_own(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *tasks, uint64_t count)
{
  note_tasks(pool, here, tasks, count);
  publish(pool, here, tasks, count);
}

/// Push a task into the pool-wide queue of a kind. @return false = there is no room
static bool push_shared(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task, ws_kind_t kind,
                        bool grow)
{
  if (!ws_shared_begin(&pool->tasks, kind, grow))
    return false;
  note_tasks(pool, here, task, 1);
  ws_shared_end(&pool->tasks, kind, task, here.queue, here.queue ? ws_wait_since(here.queue->wait) : NULL);
  announce_tasks(pool, here, kind);
  return true;
}

/// @return the address of the function that the task stands for (settings.func_of)
static uintptr_t func_of(const struct ws_pool_s *pool, const ws_task_t *task)
{
  return pool->settings.func_of ? pool->settings.func_of(task) : (uintptr_t)task->func;
}

/// @return whether a task pushes itself ("not ready, try later") in a pool that starts the oldest first. It
///         goes behind those that are queued: its thread's own queue would be the wrong place, for a search
///         looks there first, and a join takes the newest there. A task with a counted group is a part of the
///         other one, not its repetition
static inline bool pushes_itself(const struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task)
{
  if (WS_LIKELY(!here.queue || here.queue->depth == 0 || !pool->settings.fifo)
      || ws_group_counts(task->group))
    return false;
  const ws_task_t *current = ws_current_task();
  return current && func_of(pool, current) == func_of(pool, task);
}

/// What a push does if the task's queue is full.
typedef enum {
  AS_SET, ///< as settings.full has it
  FAIL, ///< it fails
  GROW_OR_RUN, ///< the queue grows; if it cannot, the task runs in the push
  GROW_OR_FAIL, ///< the queue grows; if it cannot, the push fails
} when_full_t;

/// Queue the task with those of its kind: a normal one in the own deque, or without one in the overflow
/// queue.
/// @param behind  the task pushes itself. A normal one goes to the overflow queue, which grows with
/// WS_FULL_GROW only; if there is no room, to the own deque
/// @return false = there is no room
static bool queue_any(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task, bool behind, bool grow)
{
  const ws_kind_t kind = ws_classes_kind(pool, task);
  const bool is_own = kind == WS_KIND_NORMAL && here.queue;
  here.queue ? begin_push(here.queue) : ws_pool_hold(pool);
  if (here.queue)
    ws_inbox_give_back(&pool->tasks, here.queue); // no worker will get this task
  bool queued =
      (!is_own || behind)
      && push_shared(pool, here, task, kind, behind && kind == WS_KIND_NORMAL ? pool->tasks.grows : grow);
  if (!queued && is_own) {
    shrink_now_and_then(pool, here.queue, 1);
    if ((queued = ws_queue_room(here.queue, grow)))
      push_own(pool, here, task, 1);
  }
  here.queue ? end_push(here.queue) : ws_pool_release(pool);
  return queued;
}

/// Any task, any queue: there is no thread or no lane, or the queue is full, or the task is of another kind
/// or pushes itself (@p behind). In a pool without a thread the task runs in the push, whatever @p full is.
/// @return 0 = queued or run; -EAGAIN = there is no room, and the push is to fail
WS_SELDOM static int push_any(struct ws_pool_s *pool, ws_here_t here, const ws_task_t *task, bool behind,
                              when_full_t full)
{
  if (!ws_has_threads(pool)) {
    ws_run_inline(pool, here, task);
    return 0;
  }
  const ws_full_t set = pool->settings.full;
  const bool grows = full == AS_SET ? set == WS_FULL_GROW : full != FAIL;
  const bool fails = full == AS_SET ? set == WS_FULL_FAIL : full != GROW_OR_RUN;
  if (queue_any(pool, here, task, behind, grows))
    return 0;
  if (fails)
    return -EAGAIN;
  ws_pool_hold(pool); // pushes of the task would end this one
  ws_run_inline(pool, here, task);
  ws_pool_release(pool);
  return 0;
}

/// @return whether the task may be of another kind than WS_KIND_NORMAL
static bool may_have_kind(const ws_task_t *task)
{
  return (task->priority | task->node) != 0;
}

static bool is_task(const ws_task_t *task)
{
  return task->func && (uint32_t)task->priority <= WS_PRIORITY_LOW;
}

/// Push one task. @return as ws_pool_push(), but -EAGAIN as @p full has it
static int push(struct ws_pool_s *pool, const ws_task_t *task, when_full_t full)
{
  const bool has_kind = may_have_kind(task);
  ws_not_observing("ws_pool_push");
  if (WS_UNLIKELY(!task->func || (has_kind && !is_task(task))))
    return -EINVAL;
  const ws_here_t here = ws_here(pool);
  const int refusal = refusal_of(pool, here);
  if (WS_UNLIKELY(refusal))
    return refusal;
  const bool behind = pushes_itself(pool, here, task);
  if (WS_UNLIKELY(has_kind || behind || !here.queue || !ws_deque_has_room(&here.queue->deque, 1)
                  || !ws_has_threads(pool)))
    return push_any(pool, here, task, behind, full);
  begin_push(here.queue);
  if (!(WS_UNLIKELY(!here.worker && ws_inbox_is_wanted(&pool->tasks, here.queue))
        && hand_over(pool, here, task))) {
    shrink_now_and_then(pool, here.queue, 1); // any ring has room for one task, if the one in use has
    push_own(pool, here, task, 1);
  }
  end_push(here.queue);
  return 0;
}

int ws_pool_push(ws_pool_t *pool, ws_task_t task)
{
  return WS_LIKELY(pool != NULL) ? push(pool, &task, AS_SET) : -EINVAL;
}

int ws_pool_try_push(ws_pool_t *pool, ws_task_t task)
{
  return WS_LIKELY(pool != NULL) ? push(pool, &task, FAIL) : -EINVAL;
}

int ws_push_or_fail(struct ws_pool_s *pool, const ws_task_t *task)
{
  const int result = push(pool, task, GROW_OR_FAIL);
  return result == -EAGAIN ? -ENOMEM : result;
}

/// @param sorted  out, if all are tasks: not 0 = some have a priority or a node
/// @return false = one has no function or no valid priority, or @p tasks is NULL and @p count is not 0
static bool are_tasks(const ws_task_t *tasks, uint32_t count, uint32_t *sorted)
{
  *sorted = 0;
  if (!tasks)
    return count == 0;
  for (uint32_t i = 0; i < count; i++) {
    if (WS_UNLIKELY(!is_task(&tasks[i])))
      return false;
    *sorted |= tasks[i].priority | tasks[i].node;
  }
  return true;
}

int64_t ws_pool_push_batch(ws_pool_t *pool, const ws_task_t *tasks, uint32_t count)
{
  uint32_t sorted;
  ws_not_observing("ws_pool_push_batch");
  if (WS_UNLIKELY(!pool || !are_tasks(tasks, count, &sorted)))
    return -EINVAL;
  const ws_here_t here = ws_here(pool);
  const int refusal = refusal_of(pool, here);
  if (WS_UNLIKELY(refusal))
    return refusal;
  uint32_t pushed = 0;
  if (WS_LIKELY(ws_has_threads(pool) && here.queue && sorted == 0)) {
    begin_push(here.queue);
    while (!here.worker && pushed < count && ws_inbox_is_wanted(&pool->tasks, here.queue)
           && hand_over(pool, here, &tasks[pushed]))
      pushed++;
    if (pushed > 0)
      ws_inbox_give_back(&pool->tasks, here.queue);
    if (pushed < count)
      shrink_now_and_then(pool, here.queue, count - pushed);
    if (pushed < count && WS_LIKELY(ws_deque_has_room(&here.queue->deque, count - pushed))) {
      push_own(pool, here, tasks + pushed, count - pushed);
      pushed = count;
    }
    end_push(here.queue);
  }
  for (; pushed < count; pushed++) {
    const int result = push(pool, &tasks[pushed], AS_SET);
    if (result < 0)
      return pushed > 0 || result == -EAGAIN ? (int64_t)pushed : result;
  }
  return count;
}

bool ws_push_again(struct ws_pool_s *pool, const ws_task_t *task, bool may_run)
{
  const ws_here_t here = ws_here(pool);
  if (here.queue)
    ws_root_mix(here.queue, task->group);
  if (WS_UNLIKELY(may_have_kind(task) || !here.queue || !ws_deque_has_room(&here.queue->deque, 1)))
    return push_any(pool, here, task, false, may_run ? GROW_OR_RUN : GROW_OR_FAIL) == 0;
  push_own(pool, here, task, 1);
  return true;
}
