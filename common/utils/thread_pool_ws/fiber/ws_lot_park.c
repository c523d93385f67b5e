// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lot_park.c
/// ws_lot.h.
#include "ws_lot.h"

#include <errno.h>

#include "../pool/ws_process.h"
#include "../pool/ws_steps.h"
#include "ws_alarm.h"
#include "ws_fiber_process.h"
#include "ws_fiber_run.h"

/// A thread waits. The time limit is its own.
static void block(ws_waiter_t *waiter)
{
  if (!ws_lot_enter(waiter))
    return;
  uint64_t until_ns = ws_os_until(waiter->deadline_ns);
  ws_blocking_begin();
  while (!ws_load_acquire(&waiter->woken)) { // [edge LOT_WAKE acquire] afterwards the record is this thread's
    const int result = ws_os_futex_wait_until(&waiter->woken, 0, until_ns);
    if (result == -ETIMEDOUT && ws_lot_end(waiter, WS_ENDED_TIME))
      break;
    if (result == -ETIMEDOUT)
      until_ns = 0; // a wake has come first, or the wait became one for a mutex: the wake ends it
  }
  ws_blocking_end();
}

static int result_of(const ws_waiter_t *waiter)
{
  switch (waiter->ended_by) {
    case WS_ENDED_WAKE:
      return 0;
    case WS_ENDED_TIME:
      return -ETIMEDOUT;
    case WS_ENDED_CANCEL:
      return -ECANCELED;
    default:
      return -EAGAIN;
  }
}

static int park(ws_waiter_t *waiter, bool can_cancel)
{
  ws_fiber_process_begin();
  ws_fiber_t *fiber = ws_fiber_here();
  // before the wait is in the lot: a step may need what the wait is given
  ws_steps_before_wait(fiber ? &fiber->steps : &ws_self()->steps);
  const bool timed = waiter->deadline_ns != UINT64_MAX;
  waiter->fiber = fiber;
  waiter->pool = fiber && can_cancel ? fiber->pool : NULL;
  waiter->cancel = !can_cancel ? NULL : fiber ? fiber->cancel : ws_fiber_thread()->cancel;
  if (waiter->cancel && !ws_cancel_enter(waiter)) {
    if (waiter->begun)
      waiter->begun(waiter->arg);
    return -ECANCELED;
  }
  if (fiber && (!timed || ws_alarm_add(waiter))) {
    fiber->waiter = waiter;
    ws_fiber_leave(fiber, WS_WANTS_PARK);
    if (timed && waiter->ended_by != WS_ENDED_TIME)
      ws_alarm_remove(waiter);
  } else { // a thread; or the alarms have none, so the worker blocks
    waiter->fiber = NULL;
    block(waiter);
  }
  if (waiter->cancel)
    ws_cancel_leave(waiter);
  return result_of(waiter);
}

int ws_lot_park(const void *address, ws_may_park_t may_park, void *arg, uint64_t deadline_ns, bool can_cancel)
{
  ws_waiter_t waiter = {
      .address = {(void *)(uintptr_t)address}, .may_park = may_park, .arg = arg, .deadline_ns = deadline_ns};
  return park(&waiter, can_cancel);
}

int ws_lot_park_then(const void *address, ws_begun_t begun, void *arg, uint64_t deadline_ns)
{
  ws_waiter_t waiter = {
      .address = {(void *)(uintptr_t)address}, .begun = begun, .arg = arg, .deadline_ns = deadline_ns};
  return park(&waiter, true);
}
