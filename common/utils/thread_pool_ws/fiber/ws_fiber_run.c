// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_run.c
/// ws_fiber_run.h: both sides of a switch. LOT.md, rule 1, has the order of steps.
#include "ws_fiber_run.h"

#include <errno.h>

#include "../core/ws_push.h"
#include "../core/ws_run.h"
#include "../core/ws_swap.h"
#include "../pool/ws_lane.h"
#include "../pool/ws_queue.h"
#include "../trace/ws_traced.h"
#include "ws_alarm.h"
#include "ws_fiber_process.h"
#include "ws_lot.h"
#include "ws_overflow.h"
#include "ws_stack.h"
#include "ws_switch.h"

/// Each time that a thread has stopped so many fibers in the middle, it looks for the oldest task, and for
/// tasks of other threads: fibers that wake each other would otherwise keep the thread to themselves.
#define LOOK_ELSEWHERE_EVERY 32u

/// The C++ run-time library's; NULL in a program without it.
extern void *__cxa_get_globals(void) __attribute__((weak));

// The compiler may keep errno's address within a function, and a fiber may have changed the thread.

__attribute__((noinline)) static int read_errno(void)
{
  __asm__ volatile("");
  return errno;
}

__attribute__((noinline)) static void write_errno(int value)
{
  __asm__ volatile("");
  errno = value;
}

void ws_fiber_leave(ws_fiber_t *fiber, ws_wants_t wants)
{
  const int error = read_errno();
  fiber->wants = wants;
  ws_switch_leave(fiber, ws_fiber_thread()->rider);
  const transfer_t entered = jump_fcontext(fiber->home, NULL);
  fiber->home = entered.fctx;
  ws_switch_entered(fiber, entered.data);
  write_errno(error);
}

/// The first function on a fiber's stack.
static void begin(transfer_t entered)
{
  ws_rider_t *rider = entered.data;
  ws_fiber_t *fiber = rider->fiber;
  fiber->home = entered.fctx;
  ws_switch_entered(fiber, rider);
  write_errno(0);
  fiber->func(fiber->arg);
  ws_fiber_leave(fiber, WS_WANTS_END);
  WS_ASSERT(!"a fiber that has ended continues");
}

static void make(ws_fiber_t *fiber)
{
  char *top = (char *)((uintptr_t)fiber & ~(uintptr_t)15);
  fiber->context = make_fcontext(top, (size_t)(top - fiber->stack.low), begin);
  ws_switch_begin(fiber, top);
  ws_add_relaxed(&ws_fiber_counters(ws_fiber_thread())->begun, 1); // relaxed: a statistic
}

static void check_stack(const ws_fiber_t *fiber)
{
  if (WS_UNLIKELY(!fiber->stack.guarded) && *(volatile uint64_t *)(void *)fiber->stack.low != 0)
    ws_overflow_die(fiber);
}

/// Run the fiber until it leaves its stack.
static void enter(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  if (!fiber->context)
    make(fiber);
  ws_store_relaxed(&fiber->where, WS_FIBER_RUNNING); // relaxed: for debuggers
  const ws_exceptions_t own = rider->exceptions ? *rider->exceptions : (ws_exceptions_t){0};
  if (rider->exceptions)
    *rider->exceptions = fiber->exceptions;
  ws_switch_enter(rider);
  const transfer_t left = jump_fcontext(fiber->context, rider);
  ws_switch_returned(rider);
  fiber->context = left.fctx;
  if (rider->exceptions) {
    fiber->exceptions = *rider->exceptions;
    *rider->exceptions = own;
  }
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

/// The fiber's wish was carried out in the middle: @return whether the thread should look elsewhere
static bool is_time_to_look(void)
{
  return ++ws_fiber_thread()->switches % LOOK_ELSEWHERE_EVERY == 0;
}

static void push_back(ws_fiber_t *fiber, ws_here_t here, bool elsewhere)
{
  const ws_task_t task = fiber->task; // once it is pushed the fiber may run to its end
  if (here.queue)
    favour_others(here.queue, &task, elsewhere || ws_queue_size(here.queue) == 0);
  ws_push_again(fiber->pool, &task);
}

/// The thread runs another task without going back to its loop.
static void ride(ws_rider_t *rider, const struct ws_pool_s *pool, const ws_task_t *task)
{
  ws_traced_run_end(pool, rider->task);
  rider->swapped = *task;
  rider->task = &rider->swapped;
  rider->fiber = task->arg;
  ws_self()->task = rider->task; // the core takes it back after this task
  ws_traced_run_begin(pool, rider->task);
}

/// The fiber lets others run. @return whether the rider goes on, with the fiber whose time it is now
static bool pass(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  struct ws_pool_s *pool = fiber->pool;
  const ws_here_t here = ws_here(pool);
  const ws_task_t task = fiber->task;
  const bool elsewhere = is_time_to_look();
  ws_store_relaxed(&fiber->where, WS_FIBER_QUEUED); // relaxed: for debuggers
  ws_task_t oldest;
  const ws_swap_t swap = elsewhere ? WS_SWAP_NOT : ws_swap(pool, here, &task, &oldest);
  if (swap == WS_SWAP_NOT)
    push_back(fiber, here, elsewhere);
  if (swap == WS_SWAP_TAKEN)
    ride(rider, pool, &oldest);
  return swap == WS_SWAP_TAKEN;
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
static bool carry_out(ws_rider_t *rider)
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
      if (here.queue && is_time_to_look())
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

void ws_fiber_run(void *fiber)
{
  ws_fiber_thread_t *thread = ws_fiber_thread();
  ws_overflow_arm(thread);
  ws_rider_t rider = {.fiber = fiber, .task = ws_current_task(), .outer = thread->rider};
  rider.exceptions = __cxa_get_globals ? __cxa_get_globals() : NULL;
  ws_switch_ride(&rider);
  thread->rider = &rider;
  do
    enter(&rider);
  while (carry_out(&rider));
  thread->rider = rider.outer;
}

void ws_fiber_thread_end(ws_fiber_thread_t *thread)
{
  ws_stack_put_kept(thread);
  ws_overflow_disarm(thread);
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
    settings->skipped(settings->skipped_arg, &(ws_task_t){.func = fiber->func, .arg = fiber->arg,
                                                          .group = fiber->group,
                                                          .priority = fiber->task.priority,
                                                          .node = fiber->task.node});
  ws_add_relaxed(&ws_fiber_counters(ws_fiber_thread())->dropped, 1); // relaxed: a statistic
  end(fiber);
}
