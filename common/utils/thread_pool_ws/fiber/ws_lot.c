// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lot.c
/// ws_lot.h: buckets and records.
#include "ws_lot.h"

#include "ws_fiber_process.h"
#include "ws_resume.h"

static ws_bucket_t *bucket_of(const void *address)
{
  const uint64_t mixed = (uint64_t)(uintptr_t)address * UINT64_C(0x9E3779B97F4A7C15); // 2^64 / golden ratio
  return &ws_fiber_process.bucket[mixed >> 56];
}

/// Lock the bucket of the record's address, which a move may change meanwhile.
static ws_bucket_t *lock_bucket_of(ws_waiter_t *waiter)
{
  for (;;) {
    const void *address = ws_load_relaxed(&waiter->address); // relaxed: read again under the lock
    ws_bucket_t *bucket = bucket_of(address);
    pthread_mutex_lock(&bucket->lock);
    if (ws_load_relaxed(&waiter->address) == address) // relaxed: under the lock
      return bucket;
    pthread_mutex_unlock(&bucket->lock);
  }
}

static void append(ws_bucket_t *bucket, ws_waiter_t *waiter)
{
  waiter->where = WS_WAITER_IN;
  waiter->next = NULL;
  waiter->before = bucket->last;
  if (bucket->last)
    bucket->last->next = waiter;
  else
    bucket->first = waiter;
  bucket->last = waiter;
}

static void take_out(ws_bucket_t *bucket, ws_waiter_t *waiter)
{
  waiter->where = WS_WAITER_OUT;
  if (waiter->before)
    waiter->before->next = waiter->next;
  else
    bucket->first = waiter->next;
  if (waiter->next)
    waiter->next->before = waiter->before;
  else
    bucket->last = waiter->before;
}

/// The first record of an address, from @p waiter on.
static ws_waiter_t *first_of(ws_waiter_t *waiter, const void *address)
{
  while (waiter && ws_load_relaxed(&waiter->address) != address) // relaxed: under the lock
    waiter = waiter->next;
  return waiter;
}

/// End a wait: the caller will resume it.
static void remove_by(ws_bucket_t *bucket, ws_waiter_t *waiter, uint32_t ended_by)
{
  take_out(bucket, waiter);
  waiter->ended_by = ended_by;
  ws_resume_begin(waiter);
}

bool ws_lot_enter(ws_waiter_t *waiter)
{
  ws_fiber_t *fiber = waiter->fiber;
  ws_bucket_t *bucket = lock_bucket_of(waiter);
  bool waits = waiter->ended_by == WS_ENDED_NOT;
  if (waits && waiter->pool && ws_load_relaxed(&waiter->pool->aborted)) { // relaxed: under the lock
    waiter->ended_by = WS_ENDED_CANCEL;
    waits = false;
  }
  if (waits && !waiter->may_park(waiter->arg)) {
    waiter->ended_by = WS_ENDED_NEEDLESS; // it may have a unit or a lock now: no cancel may lose that
    waits = false;
  }
  if (waits) {
    append(bucket, waiter);
    if (fiber) {
      ws_store_relaxed(&fiber->where, WS_FIBER_PARKED); // relaxed: for debuggers
      ws_add_relaxed(&ws_fiber_process.parked, 1);      // relaxed: a statistic
    }
  }
  pthread_mutex_unlock(&bucket->lock);
  return waits;
}

void ws_lot_unpark(const void *address, uint32_t count, ws_settle_t settle, void *arg)
{
  ws_fiber_process_begin();
  ws_bucket_t *bucket = bucket_of(address);
  ws_waiter_t *removed = NULL, **last = &removed;
  uint32_t woken = 0;
  pthread_mutex_lock(&bucket->lock);
  ws_waiter_t *waiter = first_of(bucket->first, address);
  for (; waiter && woken < count; woken++) {
    ws_waiter_t *next = first_of(waiter->next, address);
    remove_by(bucket, waiter, WS_ENDED_WAKE);
    *last = waiter;
    last = &waiter->next;
    waiter = next;
  }
  *last = NULL;
  if (settle)
    settle(arg, woken, waiter != NULL);
  pthread_mutex_unlock(&bucket->lock);
  ws_resume(removed);
}

static void lock_both(ws_bucket_t *a, ws_bucket_t *b)
{
  pthread_mutex_lock(a < b ? &a->lock : &b->lock);
  if (a != b)
    pthread_mutex_lock(a < b ? &b->lock : &a->lock);
}

static void unlock_both(ws_bucket_t *a, ws_bucket_t *b)
{
  pthread_mutex_unlock(&a->lock);
  if (a != b)
    pthread_mutex_unlock(&b->lock);
}

/// Lock the buckets of both, as @p to_in is then. @return the address in it
static void *lock_for_move(const void *from, const ws_aptr_t *to_in)
{
  for (;;) {
    void *to = ws_load_relaxed(to_in); // relaxed: read again under the locks
    lock_both(bucket_of(from), bucket_of(to));
    if (ws_load_relaxed(to_in) == to) // relaxed: a wait in the lot has written it before it took the lock
      return to;
    unlock_both(bucket_of(from), bucket_of(to));
  }
}

void ws_lot_move(const void *from, const ws_aptr_t *to_in, uint32_t count, ws_grant_t grant)
{
  ws_fiber_process_begin();
  void *to = lock_for_move(from, to_in);
  ws_bucket_t *here = bucket_of(from), *there = bucket_of(to);
  ws_waiter_t *removed = NULL, *next, *first = first_of(here->first, from);
  uint32_t found = 0;
  for (next = first; next && found < count; next = first_of(next->next, from))
    found++;
  bool wakes = found > 0 && grant(to, found, first->arg);
  for (next = first; found > 0; found--) {
    ws_waiter_t *waiter = next;
    next = first_of(waiter->next, from);
    if (wakes) {
      remove_by(here, waiter, WS_ENDED_WAKE);
      waiter->next = NULL;
      removed = waiter;
      wakes = false;
      continue;
    }
    take_out(here, waiter);
    ws_store_relaxed(&waiter->address, to); // relaxed: under both locks
    waiter->fixed = true;
    append(there, waiter);
  }
  unlock_both(here, there);
  ws_resume(removed);
}

uint32_t ws_lot_bits(const void *address)
{
  uint32_t bits = 0;
  const ws_waiter_t *waiter = first_of(bucket_of(address)->first, address);
  for (; waiter; waiter = first_of(waiter->next, address))
    bits |= *(const uint32_t *)waiter->arg;
  return bits;
}

bool ws_lot_end(ws_waiter_t *waiter, uint32_t ended_by)
{
  ws_bucket_t *bucket = lock_bucket_of(waiter);
  const bool ends = waiter->ended_by == WS_ENDED_NOT && !waiter->fixed;
  const bool removes = ends && waiter->where == WS_WAITER_IN;
  if (removes)
    remove_by(bucket, waiter, ended_by);
  else if (ends)
    waiter->ended_by = ended_by;
  if (removes)
    waiter->next = NULL;
  pthread_mutex_unlock(&bucket->lock);
  return removes;
}

static void abort_in(ws_bucket_t *bucket, const struct ws_pool_s *pool)
{
  ws_waiter_t *removed = NULL;
  pthread_mutex_lock(&bucket->lock);
  for (ws_waiter_t *waiter = bucket->first, *next; waiter; waiter = next) {
    next = waiter->next;
    if (waiter->pool != pool || waiter->fixed)
      continue;
    remove_by(bucket, waiter, WS_ENDED_CANCEL);
    waiter->next = removed;
    removed = waiter;
  }
  pthread_mutex_unlock(&bucket->lock);
  ws_resume(removed);
}

void ws_lot_abort(const struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < WS_LOT_BUCKETS; i++)
    abort_in(&ws_fiber_process.bucket[i], pool);
}
