// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_run.c
/// ws_fiber_run.h: both sides of a switch. LOT.md, rule 1, has the order of steps.
#include "ws_fiber_run.h"

#include <errno.h>

#include "../core/ws_look.h"
#include "../core/ws_push.h"
#include "../core/ws_run.h"
#include "../core/ws_swap.h"
#include "../pool/ws_lane.h"
#include "../pool/ws_queue.h"
#include "ws_alarm.h"
#include "ws_fiber_process.h"
#include "ws_lot.h"
#include "ws_overflow.h"
#include "ws_stack.h"
#include "ws_switch.h"

/// A thread that goes from fiber to fiber looks for tasks of other threads after a round of stops, each of a
/// fiber in the middle: fibers that never end would otherwise keep the thread to themselves.
#define ROUND_MAX 16u
/// A round takes about so long at most. Its length follows from how long the last round took.
#define ROUND_NS 50000u

/// The C++ run-time library's; NULL in a program without it.
extern void *__cxa_get_globals(void) __attribute__((weak));

/// The first function on a fiber's stack.
static void begin(transfer_t entered)
{
  ws_rider_t *rider = entered.data;
  ws_fiber_t *fiber = rider->fiber;
  fiber->home = entered.fctx;
  ws_switch_entered(fiber, rider);
  fiber->func(fiber->arg);
  ws_fiber_leave(fiber, WS_WANTS_END);
  WS_ASSERT(!"a fiber that has ended continues");
}

WS_SELDOM static void make(ws_fiber_t *fiber)
{
  char *top = (char *)((uintptr_t)fiber & ~(uintptr_t)15);
  fiber->context = make_fcontext(top, (size_t)(top - fiber->stack.low), begin);
  ws_switch_begin(fiber, top);
  ws_add_relaxed(&ws_fiber_counters(ws_fiber_thread())->begun, 1); // relaxed: a statistic
}

static inline void check_stack(const ws_fiber_t *fiber)
{
  if (WS_UNLIKELY(!fiber->stack.guarded) && *(volatile uint64_t *)(void *)fiber->stack.low != 0)
    ws_overflow_die(fiber);
}

/// Run the fiber until it leaves its stack. Its errno and its exceptions take the place of the thread's.
static inline void enter(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  if (WS_UNLIKELY(!fiber->context))
    make(fiber);
  ws_store_relaxed(&fiber->where, WS_FIBER_RUNNING); // relaxed: for debuggers
  if (rider->exceptions)
    *rider->exceptions = fiber->exceptions;
  *rider->error = fiber->error;
  ws_switch_enter(rider);
  const transfer_t left = jump_fcontext(fiber->context, rider);
  ws_switch_returned(rider);
  fiber->context = left.fctx;
  fiber->error = *rider->error;
  if (rider->exceptions)
    fiber->exceptions = *rider->exceptions;
  check_stack(fiber);
}

/// The next task that the thread takes from its own queue is the oldest.
static void favour_others(ws_queue_t *queue, const ws_task_t *task, bool elsewhere)
{
  if (queue->oldest_next != WS_OLDEST_ALWAYS) // twice: the queue of no kind counts, although it may be empty
    queue->oldest_next = task->priority | task->node ? 2 : 1;
  else
    elsewhere = elsewhere || ws_queue_size(queue) == 0;
  queue->elsewhere_next = elsewhere;
}

/// The next round has as many stops as take ROUND_NS if each takes as long as those of the last round did; at
/// most twice as many as that one.
static void begin_round(ws_fiber_thread_t *thread)
{
  const uint64_t now_ns = ws_os_now_ns();
  const uint64_t took_ns = now_ns - thread->round_begun_ns + 1;
  const uint64_t in_time = (uint64_t)thread->round * ROUND_NS / took_ns;
  const uint32_t twice = thread->round < ROUND_MAX / 2 ? 2 * thread->round : ROUND_MAX;
  thread->round = in_time == 0 ? 1 : in_time < twice ? (uint32_t)in_time : twice;
  thread->round_left = thread->round;
  thread->round_begun_ns = now_ns;
}

/// A round is over. @return whether another queue holds a task for this thread
WS_SELDOM static bool look(ws_here_t here, struct ws_pool_s *pool)
{
  ws_fiber_thread_t *thread = ws_fiber_thread();
  begin_round(thread);
  if (!here.queue || !ws_look_plan(pool, here))
    return false;
  thread->round = thread->round_left = 1; // perhaps there are more
  return true;
}

/// A fiber has stopped in the middle. @return whether the thread must look elsewhere
static inline bool is_time_to_look(ws_fiber_thread_t *thread, ws_here_t here, struct ws_pool_s *pool)
{
  if (WS_LIKELY(thread->round_left > 1)) {
    thread->round_left--;
    return false;
  }
  return look(here, pool);
}

static void push_back(ws_fiber_t *fiber, ws_here_t here, bool elsewhere)
{
  const ws_task_t task = fiber->task; // once it is pushed the fiber may run to its end
  if (here.queue)
    favour_others(here.queue, &task, elsewhere || ws_queue_size(here.queue) == 0);
  ws_push_again(fiber->pool, &task);
}

/// The thread runs another fiber, rider->swapped, without going back to its loop.
static inline void ride(ws_rider_t *rider)
{
  rider->fiber = rider->swapped.arg;
  if (WS_UNLIKELY(rider->task != &rider->swapped)) {
    rider->task = &rider->swapped;
    ws_self()->task = rider->task; // the core takes it back after this task
  }
}

/// The fiber lets others run. @return whether the rider goes on, with the fiber whose time it is now
static inline bool pass(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  ws_worker_t *worker = rider->worker;
  ws_store_relaxed(&fiber->where, WS_FIBER_QUEUED); // relaxed: for debuggers
  const ws_here_t here = worker ? (ws_here_t){&worker->queue, worker} : ws_here(fiber->pool);
  const bool elsewhere = is_time_to_look(rider->thread, here, fiber->pool);
  const ws_swap_t swap =
      WS_UNLIKELY(elsewhere || !worker) ? WS_SWAP_NOT : ws_swap(worker, &fiber->task, &rider->swapped);
  if (WS_LIKELY(swap == WS_SWAP_TAKEN)) {
    ride(rider);
    return true;
  }
  if (swap == WS_SWAP_NOT)
    push_back(fiber, here, elsewhere);
  else // the oldest is a plain task
    worker->queue.oldest_next = worker->queue.oldest_next == WS_OLDEST_ALWAYS ? WS_OLDEST_ALWAYS : 1;
  return false;
}

/// Free the fiber, complete its group, and take it off the pool's count of tasks.
static void end(ws_fiber_t *fiber)
{
  struct ws_pool_s *pool = fiber->pool;
  ws_group_t *group = fiber->group;
  const ws_here_t here = ws_here_known(pool);
  ws_store_relaxed(&fiber->where, WS_FIBER_FREE); // relaxed: for debuggers
  if (ws_stack_put(&fiber->stack))
    ws_alarm_trim();
  if (group)
    ws_group_complete(group, 1);
  if (here.queue)
    ws_count_run(here.queue, 1);
  else
    ws_add_release(&pool->laneless_run, 1); // [edge POOL_IDLE release]
}

/// The fiber has left its stack. @return whether the rider goes on, with the fiber that it has then
static inline bool carry_out(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  switch (fiber->wants) {
    case WS_WANTS_TURN:
      return pass(rider);
    case WS_WANTS_PARK: {
      struct ws_pool_s *pool = fiber->pool;
      const ws_task_t task = fiber->task;
      if (!ws_lot_enter(fiber->waiter))
        return true;
      const ws_here_t here = ws_here_known(pool);
      if (is_time_to_look(rider->thread, here, pool))
        favour_others(here.queue, &task, true);
      return false;
    }
    case WS_WANTS_END:
      ws_switch_end(fiber);
      ws_add_relaxed(&ws_fiber_counters(ws_fiber_thread())->ended, 1); // relaxed: a statistic
      end(fiber);
      return false;
  }
  return false;
}

void ws_fiber_run(void *fiber_arg)
{
  ws_fiber_t *fiber = fiber_arg;
  ws_fiber_thread_t *thread = ws_fiber_thread();
  ws_overflow_arm(thread);
  ws_rider_t rider = {.fiber = fiber, .task = ws_current_task(), .outer = thread->rider, .thread = thread};
  rider.worker = ws_here_known(fiber->pool).worker;
  rider.error = &errno;
  rider.exceptions = __cxa_get_globals ? __cxa_get_globals() : NULL;
  const ws_exceptions_t own = rider.exceptions ? *rider.exceptions : (ws_exceptions_t){0};
  ws_switch_ride(&rider);
  thread->rider = &rider;
  do
    enter(&rider);
  while (carry_out(&rider));
  thread->rider = rider.outer;
  if (rider.exceptions)
    *rider.exceptions = own;
}

void ws_fiber_run_aborted(void *fiber_arg)
{
  ws_fiber_t *fiber = fiber_arg;
  if (fiber->context) {
    ws_fiber_run(fiber);
    return;
  }
  const ws_settings_t *settings = &fiber->pool->settings;
  ws_add_relaxed(&fiber->pool->skipped, 1); // relaxed: read after the workers have ended
  if (settings->skipped)
    settings->skipped(settings->skipped_arg, &(ws_task_t){.func = fiber->func,
                                                          .arg = fiber->arg,
                                                          .group = fiber->group,
                                                          .priority = fiber->task.priority,
                                                          .node = fiber->task.node});
  ws_add_relaxed(&ws_fiber_counters(ws_fiber_thread())->dropped, 1); // relaxed: a statistic
  end(fiber);
}
