// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lot.h
/// The parking lot: where fibers, and threads, wait for an address. LOT.md describes the protocol. A wait
/// from begin to end: ws_lot_park.c. The lot: ws_lot.c. The waits that a cancel token ends: ws_cancel.c.
/// Waking the waiters of removed records: ws_resume.h.
#ifndef WS_LOT_H
#define WS_LOT_H

#include "ws_fiber_types.h"

/// @brief Wait for an unpark of @p address, unless @p may_park returns false.
/// @param deadline_ns  CLOCK_MONOTONIC; UINT64_MAX = none
/// @param can_cancel   the caller's cancel token, or an abort of its pool, ends the wait
/// @return 0 = woken; -EAGAIN = @p may_park returned false; -ETIMEDOUT; -ECANCELED
/// @threads any: a fiber parks, a thread blocks
int ws_lot_park(const void *address, ws_may_park_t may_park, void *arg, uint64_t deadline_ns,
                bool can_cancel);

/// Called once for a wait, without a lock, when the wait is in the lot or will not begin. In the first case
/// the fiber may run again meanwhile. @param arg  of ws_lot_park_then()
typedef void (*ws_begun_t)(void *arg);

/// @brief Wait for an unpark of @p address, and call @p begun when the wait can be woken. A cancel ends the
/// wait.
/// @return 0 = woken; -ETIMEDOUT; -ECANCELED
/// @threads as ws_lot_park(). A fiber's thread calls @p begun on its own stack
int ws_lot_park_then(const void *address, ws_begun_t begun, void *arg, uint64_t deadline_ns);

/// @return the address under which to wait for an object whose last wake may come when its memory has a new
/// use. A late wake then reaches no wait for that use, except one of such an object: its waits look again
/// after each wake.
static inline const void *ws_lot_brief(const void *object)
{
  return (const char *)object + 1;
}

/// @brief On the thread's own stack: enqueue the wait of a fiber that has left its stack.
/// @return false = it must not wait, and continues at once; true = the fiber is no longer the caller's
bool ws_lot_enter(ws_waiter_t *waiter);

/// Called under the lock of the bucket, once. @param woken  records that are removed. @param more  others
/// are left
typedef void (*ws_woken_t)(void *arg, uint32_t woken, bool more);

/// @brief Wake the @p count oldest waits for @p address.
/// @param on_woken  NULL = none
void ws_lot_unpark(const void *address, uint32_t count, ws_woken_t on_woken, void *arg);

/// Called under the locks of both buckets. @param to  the address to which waits move. @param count  waits
/// that will move or wake. @param arg  of the first of them. @return whether that one wakes
typedef bool (*ws_grant_t)(void *to, uint32_t count, const void *arg);

/// @brief Have the @p count oldest waits for @p from wait for the address in @p to, behind those that do
/// already, and without their time limits. The first of them wakes instead if @p grant returns true. Not
/// called if there is none.
/// @param to  read under the locks: waits write it before they begin. NULL in it: there is no wait
void ws_lot_move(const void *from, const ws_aptr_t *to, uint32_t count, ws_grant_t grant);

/// Called by the may_park() of a wait for @p address, under the lock of the bucket. The arg of each wait for
/// it is a structure that begins with a uint32_t.
/// @return the bits of all of them together
uint32_t ws_lot_bits(const void *address);

/// @brief End a wait by its time limit or a cancel, unless it has ended. The caller holds the lock of the
/// alarms or of the token.
/// @return whether the record was removed: the caller must call ws_resume() without a lock
bool ws_lot_end(ws_waiter_t *waiter, uint32_t ended_by);

/// @brief End all waits of fibers of @p pool that can be cancelled, also of those that block their worker.
void ws_lot_abort(const struct ws_pool_s *pool);

/// @brief Have a request end the wait. @return false = it was requested before
bool ws_cancel_enter(ws_waiter_t *waiter);

/// @brief The wait is over: when this returns, no request touches the record.
void ws_cancel_leave(ws_waiter_t *waiter);

#endif
