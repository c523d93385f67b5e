// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lot_bucket.c
/// One bucket of the lot: what is called under its lock, and waits for different addresses in it. All
/// buckets: an abort ends the waits of its pool, and no others.
#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_lot.h"
#include "fiber_scene.h"

/// @return the only bucket whose lock is held; NULL = none, or several
static ws_bucket_t *held_bucket(void)
{
  ws_bucket_t *held = NULL;
  uint32_t count = 0;
  for (uint32_t i = 0; i < WS_LOT_BUCKETS; i++) {
    ws_bucket_t *bucket = &ws_fiber_process.bucket[i];
    if (pthread_mutex_trylock(&bucket->lock) == 0) {
      pthread_mutex_unlock(&bucket->lock);
      continue;
    }
    held = bucket;
    count++;
  }
  return count == 1 ? held : NULL;
}

static bool find_bucket(void *bucket)
{
  *(ws_bucket_t **)bucket = held_bucket();
  return false;
}

/// @return the bucket of an address: it is locked while a wait asks whether it may begin. No fiber may run:
/// it could hold another lock
static ws_bucket_t *bucket_of(const void *address)
{
  ws_bucket_t *bucket = NULL;
  CU_ASSERT_EQUAL(ws_lot_park(address, find_bucket, &bucket, UINT64_MAX, false), -EAGAIN);
  return bucket;
}

static void settle(void *bucket, uint32_t woken, bool more)
{
  *(ws_bucket_t **)bucket = woken == 0 && !more ? held_bucket() : NULL;
}

/// A condition and the list change under one hold of the lock, on the side of the wake, too.
static void test_settle_is_locked(void)
{
  static uint32_t object;
  ws_bucket_t *bucket = NULL;
  ws_lot_unpark(&object, 1, settle, &bucket);
  CU_ASSERT_PTR_NOT_NULL(bucket);
  CU_ASSERT_PTR_EQUAL(bucket, bucket_of(&object));
}

static uint32_t objects[WS_LOT_BUCKETS + 1];
static const uint32_t *pair[2];

/// Among more addresses than buckets two share one.
static void find_pair(void)
{
  ws_bucket_t *bucket[TEST_COUNT(objects)];
  for (uint32_t i = 0; i < TEST_COUNT(objects); i++) {
    bucket[i] = bucket_of(&objects[i]);
    for (uint32_t j = 0; j < i; j++)
      if (bucket[i] == bucket[j]) {
        pair[0] = &objects[j];
        pair[1] = &objects[i];
        return;
      }
  }
}

static bool may_always(void *unused)
{
  (void)unused;
  return true;
}

static void wait_for(void *index)
{
  const uint32_t *address = pair[*(const uint32_t *)index];
  note(ws_lot_park(address, may_always, NULL, UINT64_MAX, false) == 0);
  write_letter(*(const uint32_t *)index ? 'b' : 'a');
}

static bool have_written(void *count)
{
  return ws_load_acquire(&scene.letters) == *(const uint32_t *)count;
}

typedef struct {
  uint32_t woken;
  bool more;
} settled_t;

static void keep_settled(void *settled, uint32_t woken, bool more)
{
  *(settled_t *)settled = (settled_t){woken, more};
}

static void check_unpark(const void *address, uint32_t count, uint32_t woken, bool more)
{
  settled_t settled;
  ws_lot_unpark(address, count, keep_settled, &settled);
  CU_ASSERT_EQUAL(settled.woken, woken);
  CU_ASSERT_EQUAL(settled.more, more);
}

/// Waits for two addresses stand one after the other in one bucket: a wake takes those of its address.
static void test_two_addresses(void)
{
  static const uint32_t index[] = {0, 1};
  uint32_t written = 1;
  scene_begin(1);
  find_pair();
  CU_ASSERT_PTR_NOT_NULL_FATAL(pair[1]);
  for (uint64_t i = 0; i < 6; i++) {
    push_fiber(wait_for, &index[i % 2], NULL); // abab..
    CU_ASSERT(await_parked(i + 1));
  }
  check_unpark(pair[0], 0, 0, true);
  check_unpark(pair[1], 1, 1, true);
  CU_ASSERT(test_until(have_written, &written));
  check_unpark(pair[0], 2, 2, true);
  written = 3;
  CU_ASSERT(test_until(have_written, &written));
  check_unpark(pair[0], 2, 1, false);
  check_unpark(pair[0], 2, 0, false);
  written = 4;
  CU_ASSERT(test_until(have_written, &written));
  CU_ASSERT_EQUAL(parked(), 2);
  check_unpark(pair[1], UINT32_MAX, 2, false);
  ws_pool_wait(scene.pool);
  CU_ASSERT_STRING_EQUAL(scene.letter, "baaabb");
  scene_end();
}

#define PLACES (64 * WS_LOT_BUCKETS)

static uint32_t places[PLACES];

static void wait_until_aborted(void *address)
{
  note(ws_lot_park(address, may_always, NULL, UINT64_MAX, true) == -ECANCELED);
  ws_add_relaxed(&scene.value, 1);
}

/// Park a fiber in each bucket.
static void park_everywhere(void)
{
  uint32_t *place[WS_LOT_BUCKETS] = {NULL};
  uint32_t found = 0;
  for (uint32_t i = 0; i < PLACES && found < WS_LOT_BUCKETS; i++) {
    const uint32_t index = (uint32_t)(bucket_of(&places[i]) - ws_fiber_process.bucket);
    found += !place[index];
    place[index] = &places[i];
  }
  CU_ASSERT_EQUAL_FATAL(found, WS_LOT_BUCKETS);
  for (uint32_t i = 0; i < WS_LOT_BUCKETS; i++)
    push_fiber(wait_until_aborted, place[i], NULL);
  CU_ASSERT(await_parked(WS_LOT_BUCKETS));
}

static uint32_t object;

static void wait_on(void *unused)
{
  (void)unused;
  note(ws_lot_park(&object, may_always, NULL, UINT64_MAX, true) == 0);
}

static void test_abort_everywhere(void)
{
  scene_begin(2);
  park_everywhere();
  ws_pool_t *other = test_pool(1);
  CU_ASSERT_EQUAL(ws_fiber_push(other, wait_on, NULL, NULL, NULL), 0);
  CU_ASSERT(await_parked(WS_LOT_BUCKETS + 1));
  CU_ASSERT_EQUAL(ws_pool_stop(scene.pool, WS_STOP_ABORT), 0);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), WS_LOT_BUCKETS);
  CU_ASSERT_EQUAL(parked(), 1);
  ws_lot_unpark(&object, 1, NULL, NULL);
  ws_pool_wait(other);
  test_destroy(other);
  scene_end();
}

static ws_mutex_t mutex;
static ws_cond_t cond;

static void wait_signalled(void *unused)
{
  (void)unused;
  ws_mutex_lock(&mutex);
  note(ws_cond_wait(&cond, &mutex) == 0);
  ws_mutex_unlock(&mutex);
  ws_add_relaxed(&scene.value, 1);
}

static void *abort_pool(void *unused)
{
  (void)unused;
  note(ws_pool_stop(scene.pool, WS_STOP_ABORT) == 0);
  return NULL;
}

static ws_au32_t ended;

static bool has_ended(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&ended) == 1;
}

static void wait_for_abort(void *address)
{
  note(ws_lot_park(address, may_always, NULL, UINT64_MAX, true) == -ECANCELED);
  ws_store_relaxed(&ended, 1);
}

/// Waits that were signalled, and wait for the mutex, are not ended by an abort.
static void test_abort_signalled(void)
{
  scene_begin(2);
  ws_store_relaxed(&ended, 0);
  uint32_t place = 0; // in the bucket of the mutex: looked at after the waits for that
  while (place < PLACES && bucket_of(&places[place]) != bucket_of(&mutex))
    place++;
  CU_ASSERT_FATAL(place < PLACES);
  for (uint32_t i = 0; i < 3; i++)
    push_fiber(wait_signalled, NULL, NULL);
  CU_ASSERT(await_parked(3));
  ws_mutex_lock(&mutex);
  ws_cond_broadcast(&cond);
  push_fiber(wait_for_abort, &places[place], NULL);
  CU_ASSERT(await_parked(4));
  test_threads_t threads = {0};
  test_spawn(&threads, abort_pool, NULL);
  CU_ASSERT(test_until(has_ended, NULL));
  CU_ASSERT_EQUAL(parked(), 3);
  ws_mutex_unlock(&mutex);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.value), 3);
  scene_end();
}

TEST_MAIN("lot_bucket", TEST_CASE(test_settle_is_locked), TEST_CASE(test_two_addresses),
          TEST_CASE(test_abort_everywhere), TEST_CASE(test_abort_signalled))
