// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_lot.c
/// ws_lot.h: buckets and records.
#include "ws_lot.h"

#include "ws_fiber_process.h"
#include "ws_resume.h"

static ws_bucket_t *bucket_of(const void *address)
{
  return &ws_fiber_process.bucket[ws_lot_hash(address) >> (64 - WS_LOT_BUCKET_BITS)];
}

/// Lock the bucket of the record's address, which a move may change meanwhile.
static ws_bucket_t *lock_bucket_of(ws_waiter_t *waiter)
{
  for (;;) {
    const void *address = ws_hint_load(&waiter->address); // read again under the lock
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
  ws_lot_append(&bucket->root, waiter);
}

/// End a wait: the caller will resume it.
static void remove_by(ws_waiter_t *waiter, uint32_t ended_by)
{
  waiter->where = WS_WAITER_OUT;
  ws_lot_take_out(waiter);
  waiter->ended_by = ended_by;
  ws_resume_begin(waiter);
}

bool ws_lot_enter(ws_waiter_t *waiter)
{
  ws_fiber_t *fiber = waiter->fiber;
  ws_bucket_t *bucket = lock_bucket_of(waiter);
  void (*const begun)(void *) = waiter->begun; // once the bucket is unlocked the record may be gone
  void *const arg = waiter->arg;
  bool waits = waiter->ended_by == WS_ENDED_NOT;
  // relaxed: under the lock
  if (waits && waiter->pool && ws_load_relaxed(&waiter->pool->runs) == WS_RUNS_SKIPPED) {
    waiter->ended_by = WS_ENDED_CANCEL;
    waits = false;
  }
  if (waits && waiter->may_park && !waiter->may_park(arg)) {
    waiter->ended_by = WS_ENDED_NEEDLESS; // it may have a unit or a lock now: no cancel may lose that
    waits = false;
  }
  if (waits) {
    append(bucket, waiter);
    if (fiber) {
      ws_stat_store(&fiber->where, WS_FIBER_PARKED);
      ws_stat_add(&ws_fiber_process.parked, 1);
    }
  }
  pthread_mutex_unlock(&bucket->lock);
  if (begun)
    begun(arg);
  return waits;
}

void ws_lot_unpark(const void *address, uint32_t count, ws_woken_t on_woken, void *arg)
{
  ws_fiber_process_begin();
  ws_bucket_t *bucket = bucket_of(address);
  ws_waiter_t *removed = NULL, **last = &removed;
  uint32_t woken = 0;
  pthread_mutex_lock(&bucket->lock);
  ws_waiter_t *waiter = ws_lot_oldest(bucket->root, address);
  for (; waiter && woken < count; woken++) {
    ws_waiter_t *next = ws_lot_younger(waiter, waiter); // then the oldest
    remove_by(waiter, WS_ENDED_WAKE);
    *last = waiter;
    last = &waiter->next;
    waiter = next;
  }
  *last = NULL;
  if (on_woken)
    on_woken(arg, woken, waiter != NULL);
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
    void *to = ws_hint_load(to_in); // read again under the locks
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
  ws_waiter_t *removed = NULL, *oldest = ws_lot_oldest(here->root, from);
  uint32_t found = 0;
  for (const ws_waiter_t *last = oldest; last && found < count; last = ws_lot_younger(last, oldest))
    found++;
  if (found > 0 && grant(to, found, oldest->arg)) {
    removed = oldest;
    oldest = ws_lot_younger(removed, removed);
    remove_by(removed, WS_ENDED_WAKE);
    removed->next = NULL;
    found--;
  }
  for (ws_waiter_t *next; found > 0; found--, oldest = next) {
    next = ws_lot_younger(oldest, oldest);
    ws_lot_take_out(oldest);
    ws_store_relaxed(&oldest->address, to); // relaxed: under both locks
    oldest->fixed = true;
    ws_lot_append(&there->root, oldest);
  }
  unlock_both(here, there);
  ws_resume(removed);
}

uint32_t ws_lot_bits(const void *address)
{
  uint32_t bits = 0;
  const ws_waiter_t *oldest = ws_lot_oldest(bucket_of(address)->root, address);
  for (const ws_waiter_t *waiter = oldest; waiter; waiter = ws_lot_younger(waiter, oldest))
    bits |= *(const uint32_t *)waiter->arg;
  return bits;
}

bool ws_lot_end(ws_waiter_t *waiter, uint32_t ended_by)
{
  ws_bucket_t *bucket = lock_bucket_of(waiter);
  const bool ends = waiter->ended_by == WS_ENDED_NOT && !waiter->fixed;
  const bool removes = ends && waiter->where == WS_WAITER_IN;
  if (removes)
    remove_by(waiter, ended_by);
  else if (ends)
    waiter->ended_by = ended_by;
  if (removes)
    waiter->next = NULL;
  pthread_mutex_unlock(&bucket->lock);
  return removes;
}

/// Remove the waits of the pool in a tree: first those below a node. A leaf that then takes the node's place
/// has been looked at. @return @p removed, and before it the records that are removed
static ws_waiter_t *abort_below(ws_waiter_t *node, const struct ws_pool_s *pool, ws_waiter_t *removed)
{
  for (uint32_t i = 0; i < WS_LOT_CHILDREN; i++)
    if (node->child[i])
      removed = abort_below(node->child[i], pool, removed);
  const ws_waiter_t *newest = node->before;
  for (ws_waiter_t *waiter = node, *next; waiter; waiter = next) {
    next = waiter != newest ? waiter->next : NULL;
    if (waiter->pool != pool || waiter->fixed)
      continue;
    remove_by(waiter, WS_ENDED_CANCEL);
    waiter->next = removed;
    removed = waiter;
  }
  return removed;
}

static void abort_in(ws_bucket_t *bucket, const struct ws_pool_s *pool)
{
  pthread_mutex_lock(&bucket->lock);
  ws_waiter_t *removed = bucket->root ? abort_below(bucket->root, pool, NULL) : NULL;
  pthread_mutex_unlock(&bucket->lock);
  ws_resume(removed);
}

void ws_lot_abort(const struct ws_pool_s *pool)
{
  for (uint32_t i = 0; i < WS_LOT_BUCKETS; i++)
    abort_in(&ws_fiber_process.bucket[i], pool);
}
