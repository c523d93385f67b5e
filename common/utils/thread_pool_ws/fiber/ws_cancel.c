// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_cancel.c
/// Cancel tokens: ws_lot.h, and the functions of ws_sync.h.
#include "ws_lot.h"

#include "ws_fiber_process.h"
#include "ws_resume.h"

static pthread_mutex_t *lock_of(const ws_cancel_t *cancel)
{
  const uint64_t mixed = (uint64_t)(uintptr_t)cancel * UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
  return &ws_fiber_process.cancel_lock[mixed >> 60];
}

/// The word of a token is plain in C++, so the atomic type is laid over it.
static ws_au32_t *requested_of(const ws_cancel_t *cancel)
{
  return (ws_au32_t *)(uintptr_t)&cancel->requested;
}

void ws_cancel_init(ws_cancel_t *cancel)
{
  *cancel = (ws_cancel_t){0};
}

bool ws_cancel_requested(const ws_cancel_t *cancel)
{
  return ws_load_acquire(requested_of(cancel)) != 0; // [edge CANCEL acquire]
}

ws_cancel_t *ws_cancel_use(ws_cancel_t *cancel)
{
  ws_fiber_t *fiber = ws_fiber_here();
  ws_cancel_t **place = fiber ? &fiber->cancel : &ws_fiber_thread()->cancel;
  ws_cancel_t *before = *place;
  *place = cancel;
  return before;
}

ws_cancel_t *ws_cancel_used(void)
{
  const ws_fiber_t *fiber = ws_fiber_here();
  return fiber ? fiber->cancel : ws_fiber_thread()->cancel;
}

/// @return the waits of this process, under the token's lock. Those of a process that was forked lie on
/// stacks of threads that its child does not have
static ws_waiter_t **waiters_of(ws_cancel_t *cancel)
{
  if (WS_UNLIKELY(cancel->forks != ws_fiber_process.forks)) {
    cancel->forks = ws_fiber_process.forks;
    cancel->waiters = NULL;
  }
  return &cancel->waiters;
}

bool ws_cancel_enter(ws_waiter_t *waiter)
{
  ws_cancel_t *cancel = waiter->cancel;
  pthread_mutex_lock(lock_of(cancel));
  const bool requested = ws_cancel_requested(cancel);
  if (!requested) {
    ws_waiter_t **first = waiters_of(cancel);
    waiter->cancel_before = NULL;
    waiter->cancel_next = *first;
    if (waiter->cancel_next)
      waiter->cancel_next->cancel_before = waiter;
    *first = waiter;
  }
  pthread_mutex_unlock(lock_of(cancel));
  return !requested;
}

void ws_cancel_leave(ws_waiter_t *waiter)
{
  ws_cancel_t *cancel = waiter->cancel;
  pthread_mutex_lock(lock_of(cancel));
  if (waiter->cancel_before)
    waiter->cancel_before->cancel_next = waiter->cancel_next;
  else
    cancel->waiters = waiter->cancel_next;
  if (waiter->cancel_next)
    waiter->cancel_next->cancel_before = waiter->cancel_before;
  pthread_mutex_unlock(lock_of(cancel));
}

void ws_cancel_request(ws_cancel_t *cancel)
{
  ws_waiter_t *removed = NULL;
  ws_fiber_process_begin();
  pthread_mutex_lock(lock_of(cancel));
  ws_store_release(requested_of(cancel), 1); // [edge CANCEL release] what the canceller wrote
  for (ws_waiter_t *waiter = *waiters_of(cancel); waiter; waiter = waiter->cancel_next)
    if (ws_lot_end(waiter, WS_ENDED_CANCEL)) {
      waiter->next = removed;
      removed = waiter;
    }
  pthread_mutex_unlock(lock_of(cancel));
  ws_resume(removed);
}
