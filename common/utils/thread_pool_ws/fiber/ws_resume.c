// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_resume.c
/// ws_resume.h.
#include "ws_resume.h"

#include "../core/ws_push.h"
#include "../include/ws_record.h"
#include "ws_fiber_process.h"

void ws_resume_begin(const ws_waiter_t *waiter)
{
  if (!waiter->fiber)
    return;
  ws_stat_sub(&ws_fiber_process.parked, 1);
  ws_pool_hold(waiter->fiber->pool);
}

static void resume_fiber(ws_fiber_t *fiber)
{
  struct ws_pool_s *pool = fiber->pool;
  const ws_task_t task = fiber->task; // once it is pushed the fiber may run to its end
  ws_stat_store(&fiber->where, WS_FIBER_QUEUED);
  ws_push_again(pool, &task, true);
  ws_pool_release(pool);
}

void ws_resume(ws_waiter_t *first)
{
  for (ws_waiter_t *waiter = first, *next; waiter; waiter = next) {
    next = waiter->next; // once it is woken the record is gone
    if (waiter->fiber) {
      resume_fiber(waiter->fiber);
      continue;
    }
    ws_au32_t *woken = &waiter->woken;
    ws_store_release(woken, 1); // [edge LOT_WAKE release] how the wait has ended
    ws_os_futex_wake(woken, 1);
  }
}
