// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_resume.c
/// ws_lot.h.
#include "ws_lot.h"

#include "../core/ws_push.h"
#include "../pool/ws_process.h"
#include "ws_fiber_process.h"

#define RESUMER 2u ///< one thread in a resume
#define STOPS 1u ///< a stop sleeps on the word

/// A stop waits for the pool's own workers anyway.
static bool counts(const struct ws_pool_s *pool)
{
  const ws_worker_t *worker = ws_self()->worker;
  return !worker || worker->pool != pool;
}

void ws_resume_begin(const ws_waiter_t *waiter)
{
  if (!waiter->fiber)
    return;
  ws_stat_sub(&ws_fiber_process.parked, 1);
  if (counts(waiter->fiber->pool))
    // [edge RESUMERS acq_rel] while the fiber is parked
    ws_add_acq_rel(&waiter->fiber->pool->resumers, RESUMER);
}

static void resume_fiber(ws_fiber_t *fiber)
{
  struct ws_pool_s *pool = fiber->pool;
  const ws_task_t task = fiber->task; // once it is pushed the fiber may run to its end
  const bool counted = counts(pool);
  ws_au32_t *resumers = &pool->resumers; // after the subtraction only an address: the pool may be gone
  ws_stat_store(&fiber->where, WS_FIBER_QUEUED);
  ws_push_again(pool, &task);
  if (counted
      && ws_sub_acq_rel(resumers, RESUMER) == (RESUMER | STOPS)) // [edge RESUMERS acq_rel] after the push
    ws_os_futex_wake(resumers, 1);
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

void ws_resume_drain(struct ws_pool_s *pool)
{
  ws_au32_t *resumers = &pool->resumers;
  uint32_t seen = ws_or_acq_rel(resumers, STOPS) | STOPS; // [edge RESUMERS acq_rel]
  while (seen >= RESUMER) {
    ws_os_futex_wait(resumers, seen, 0);
    seen = ws_load_acquire(resumers); // [edge RESUMERS acquire]
  }
  ws_and_acq_rel(resumers, ~STOPS); // [edge RESUMERS acq_rel]
}
