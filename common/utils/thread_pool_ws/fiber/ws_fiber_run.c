// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_fiber_run.c
/// ws_fiber_run.h: both sides of a switch. LOT.md, rule 1, has the order of steps.
#include "ws_fiber_run.h"

#include <errno.h>

#include "../core/ws_push.h"
#include "../core/ws_run.h"
#include "../pool/ws_lane.h"
#include "../pool/ws_process.h"
#include "ws_alarm.h"
#include "ws_fiber_process.h"
#include "ws_local_value.h"
#include "ws_lot.h"
#include "ws_overflow.h"
#include "ws_stack.h"
#include "ws_switch.h"

/// The C++ run-time library's; NULL in a program without it.
extern void *__cxa_get_globals(void) __attribute__((weak));

/// The first function on a fiber's stack.
static void begin(transfer_t entered)
{
  ws_rider_t *rider = entered.data;
  ws_fiber_t *fiber = rider->fiber;
  fiber->home = entered.fctx;
  ws_switch_entered(fiber, rider);
  fiber->own.func(fiber->own.arg);
  if (WS_UNLIKELY(fiber->locals != NULL))
    ws_local_end(&fiber->locals);
  ws_fiber_leave(fiber, WS_WANTS_END);
  WS_ASSERT(!"a fiber that has ended continues");
}

WS_SELDOM static void make(ws_fiber_t *fiber)
{
  char *top = (char *)((uintptr_t)fiber & ~(uintptr_t)15);
  fiber->context = make_fcontext(top, (size_t)(top - fiber->stack.low), begin);
  ws_switch_begin(fiber, top);
  ws_stat_add(&ws_fiber_counters(ws_fiber_thread())->begun, 1);
}

static inline void check_stack(const ws_fiber_t *fiber)
{
  if (WS_UNLIKELY(!fiber->stack.guarded) && *(volatile uint64_t *)(void *)fiber->stack.low != 0)
    ws_overflow_die(fiber);
}

/// Run the fiber until it leaves its stack. Its errno and its exceptions take the place of the thread's.
static inline void run_on_its_stack(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  if (WS_UNLIKELY(!fiber->context))
    make(fiber);
  ws_stat_store(&fiber->where, WS_FIBER_RUNNING);
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

/// The thread runs another fiber, rider->swapped, without going back to its loop.
static inline void ride(ws_rider_t *rider)
{
  rider->fiber = rider->swapped.arg;
  *rider->current = &rider->fiber->own;
}

/// The fiber lets others run. @return whether the rider goes on, with the fiber whose time it is now
static inline bool pass(ws_rider_t *rider)
{
  ws_fiber_t *fiber = rider->fiber;
  ws_stat_store(&fiber->where, WS_FIBER_QUEUED);
  const ws_swap_t swap = ws_swap(fiber->pool, rider->worker, &fiber->task, &rider->swapped);
  if (WS_UNLIKELY(swap != WS_SWAP_RIDE))
    return swap == WS_SWAP_NOT;
  ride(rider);
  return true;
}

/// Free the fiber, complete its group, and take it off the pool's count of tasks.
static void end(ws_fiber_t *fiber)
{
  struct ws_pool_s *pool = fiber->pool;
  ws_group_t *group = fiber->own.group;
  const ws_here_t here = ws_here_known(pool);
  ws_stat_store(&fiber->where, WS_FIBER_FREE);
  if (ws_stack_put(&fiber->stack))
    ws_alarm_trim();
  ws_complete(pool, here.queue, group, 1);
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
      if (!ws_lot_enter(fiber->waiter))
        return true;
      ws_swap_none(ws_here_known(pool));
      return false;
    }
    case WS_WANTS_END:
      *rider->current = rider->task; // the fiber's own is gone with its stack
      ws_switch_end(fiber);
      ws_stat_add(&ws_fiber_counters(ws_fiber_thread())->ended, 1);
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
  ws_rider_t rider = {.fiber = fiber, .outer = thread->rider, .thread = thread, .current = &ws_self()->task};
  rider.task = *rider.current;
  rider.worker = ws_here_known(fiber->pool).worker;
  rider.error = &errno;
  rider.exceptions = __cxa_get_globals ? __cxa_get_globals() : NULL;
  const ws_exceptions_t own = rider.exceptions ? *rider.exceptions : (ws_exceptions_t){0};
  ws_switch_ride(&rider);
  thread->rider = &rider;
  *rider.current = &fiber->own; // the core takes it back after this task
  do
    run_on_its_stack(&rider);
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
  ws_add_relaxed(&fiber->pool->count.skipped, 1); // relaxed: read after the workers have ended
  ws_task_t notice; // what a fiber may have runs at once
  ws_skip_report(fiber->pool, &fiber->own, &notice);
  ws_stat_add(&ws_fiber_counters(ws_fiber_thread())->dropped, 1);
  end(fiber);
}
