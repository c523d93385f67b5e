// SPDX-License-Identifier: BSD-3-Clause
/// @file test_sync_steps.c
/// Races of gates and condition variables, step by step. Linked with --wrap=ws_lot_enter,
/// --wrap=ws_lot_move, --wrap=ws_lot_unpark, --wrap=pthread_mutex_lock and --wrap=ws_mutex_unlock: the next
/// thread that enters the lot can be held before that, the next one that moves waits before its first lock,
/// the next one that unparks before that, and the next one that unlocks a mutex after that.
#define _GNU_SOURCE // memfd_create
#include "../../../fiber/ws_lot.h"
#include "../../support/ws_death.h"
#include "../../support/ws_seam.h"
#include "../fiber/fiber_scene.h"

static ws_au32_t holds_enter, holds_move, holds_unpark, holds_unlock;
static ws_au32_t entered; ///< waits that have entered the lot
static _Thread_local bool holds_lock;

static bool ws_lot_enter_seam(ws_waiter_t *waiter)
{
  if (ws_xchg_acq_rel(&holds_enter, 0))
    test_gate_task(&scene.gate);
  const bool waits = __real_ws_lot_enter(waiter);
  ws_add_acq_rel(&entered, waits);
  return waits;
}

static void ws_lot_move_seam(const void *from, const ws_aptr_t *to, uint32_t count, ws_grant_t grant)
{
  holds_lock = ws_xchg_acq_rel(&holds_move, 0);
  __real_ws_lot_move(from, to, count, grant);
}

static void ws_lot_unpark_seam(const void *address, uint32_t count, ws_woken_t on_woken, void *arg)
{
  if (ws_xchg_acq_rel(&holds_unpark, 0))
    test_gate_task(&scene.gate);
  __real_ws_lot_unpark(address, count, on_woken, arg);
}

static int pthread_mutex_lock_seam(pthread_mutex_t *lock)
{
  if (holds_lock) {
    holds_lock = false;
    test_gate_task(&scene.gate);
  }
  return __real_pthread_mutex_lock(lock);
}

static void ws_mutex_unlock_seam(ws_mutex_t *mutex)
{
  const bool held = ws_xchg_acq_rel(&holds_unlock, 0);
  __real_ws_mutex_unlock(mutex);
  if (held)
    test_gate_task(&scene.gate);
}

static ws_gate_t a_gate;
static ws_mutex_t first, second;
static ws_cond_t cond;

static bool has_letter(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.letters) > 0;
}

static void wait_gate(void *unused)
{
  (void)unused;
  note(ws_gate_wait(&a_gate) == 0);
  write_letter('g');
}

/// The gate is open for a moment between the wait's begin and its entry into the lot.
static void test_short_opening(void)
{
  scene_begin(2);
  a_gate = (ws_gate_t)WS_GATE_INIT;
  ws_store_release(&holds_enter, 1);
  push_fiber(wait_gate, NULL, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_gate_open(&a_gate);
  ws_gate_open(&a_gate); // has no further effect
  ws_gate_close(&a_gate);
  CU_ASSERT_FALSE(ws_gate_is_open(&a_gate));
  test_gate_let(&scene.gate, 1);
  CU_ASSERT(test_until(has_letter, NULL));
  push_fiber(wait_gate, NULL, NULL); // a later wait stops
  CU_ASSERT(await_parked(1));
  ws_gate_open(&a_gate);
  ws_pool_wait(scene.pool);
  scene_end();
}

static void *open_gate(void *unused)
{
  ws_gate_open(&a_gate);
  return unused;
}

/// @return whether the wait has returned, or has entered the lot for the second time
static bool has_looked_again(void *unused)
{
  return has_letter(unused) || ws_load_acquire(&entered) == 2;
}

/// The wake of an opening comes late: the gate is closed again, and a wait has begun after that. The wait
/// goes on until the next opening.
static void test_late_wake(void)
{
  scene_begin(2);
  a_gate = (ws_gate_t)WS_GATE_INIT;
  ws_store_release(&entered, 0);
  ws_store_release(&holds_unpark, 1);
  test_threads_t threads = {0};
  test_spawn(&threads, open_gate, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_gate_close(&a_gate);
  push_fiber(wait_gate, NULL, NULL);
  CU_ASSERT(await_parked(1));
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  CU_ASSERT(test_until(has_looked_again, NULL));
  CU_ASSERT_FALSE(has_letter(NULL));
  ws_gate_open(&a_gate);
  ws_pool_wait(scene.pool);
  CU_ASSERT(has_letter(NULL));
  scene_end();
}

static union {
  ws_gate_t gate;
  ws_mutex_t mutex;
} place;

static void *open_place(void *unused)
{
  ws_gate_open(&place.gate);
  return unused;
}

static void lock_place(void *unused)
{
  (void)unused;
  ws_mutex_lock(&place.mutex);
  write_letter('l');
  ws_mutex_unlock(&place.mutex);
}

/// The wake of an opening comes when the gate's last wait has returned and its memory is a locked mutex.
static void test_gone_gate(void)
{
  scene_begin(1);
  place.gate = (ws_gate_t)WS_GATE_INIT;
  ws_store_release(&holds_unpark, 1);
  test_threads_t threads = {0};
  test_spawn(&threads, open_place, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  CU_ASSERT_EQUAL(ws_gate_wait(&place.gate), 0);
  place.mutex = (ws_mutex_t)WS_MUTEX_INIT;
  ws_mutex_lock(&place.mutex);
  push_fiber(lock_place, NULL, NULL);
  CU_ASSERT(await_parked(1));
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  CU_ASSERT_EQUAL(parked(), 1);
  ws_mutex_unlock(&place.mutex);
  ws_pool_wait(scene.pool);
  CU_ASSERT(has_letter(NULL));
  scene_end();
}

static void wait_with(void *mutex)
{
  ws_mutex_lock(mutex);
  note(ws_cond_wait(&cond, mutex) == 0);
  ws_mutex_unlock(mutex);
}

static void *signal_thread(void *unused)
{
  (void)unused;
  ws_cond_signal(&cond);
  return NULL;
}

/// A signal has begun when the waits of one mutex are over and one with another mutex begins: that wait gets
/// its own mutex, and nothing touches the first one.
static void test_other_mutex(void)
{
  scene_begin(1);
  push_fiber(wait_with, &first, NULL);
  CU_ASSERT(await_parked(1));
  ws_cond_signal(&cond);
  ws_pool_wait(scene.pool);
  ws_store_release(&holds_move, 1);
  test_threads_t threads = {0};
  test_spawn(&threads, signal_thread, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  push_fiber(wait_with, &second, NULL);
  CU_ASSERT(await_parked(1));
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(first.word, 0);
  CU_ASSERT_EQUAL(second.word, 0);
  scene_end();
}

#define WAITS 7u

static void wait_alone(void *unused)
{
  (void)unused;
  ws_mutex_lock(&first);
  note(ws_cond_wait(&cond, &first) == 0);
  note(ws_add_relaxed(&scene.value, 1) == 0);
  ws_yield(); // any other owner would run now
  ws_sub_relaxed(&scene.value, 1);
  ws_mutex_unlock(&first);
  write_letter('a');
}

/// A broadcast while the mutex is free: one wait gets it, the others wait for it.
static void test_broadcast_to_free(void)
{
  scene_begin(1);
  for (uint32_t i = 0; i < WAITS; i++)
    push_fiber(wait_alone, NULL, NULL);
  CU_ASSERT(await_parked(WAITS));
  ws_cond_broadcast(&cond);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.letters), WAITS);
  CU_ASSERT_EQUAL(first.word, 0);
  scene_end();
}

static void wait_once(void *unused)
{
  (void)unused;
  ws_mutex_lock(&first);
  note(ws_cond_wait(&cond, &first) == 0);
  write_letter('o');
  ws_mutex_unlock(&first);
}

static void *wait_once_thread(void *unused)
{
  wait_once(unused);
  return NULL;
}

/// The signal comes when the wait has unlocked the mutex, and its thread has done nothing since. Then the
/// condition variable is destroyed, and its memory has a new use.
static void gone_after(bool in_fiber, void (*signal)(ws_cond_t *))
{
  scene_begin(2);
  cond = (ws_cond_t)WS_COND_INIT;
  ws_store_release(&holds_unlock, 1);
  test_threads_t threads = {0};
  if (in_fiber)
    push_fiber(wait_once, NULL, NULL);
  else
    test_spawn(&threads, wait_once_thread, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  signal(&cond);
  cond = (ws_cond_t)WS_COND_INIT;
  test_gate_let(&scene.gate, 1);
  CU_ASSERT_FATAL(test_until(has_letter, NULL));
  ws_pool_wait(scene.pool);
  test_join(&threads);
  CU_ASSERT_EQUAL(first.word, 0);
  scene_end();
}

static void test_gone_after_signal(void)
{
  gone_after(true, ws_cond_signal);
  gone_after(true, ws_cond_broadcast);
  gone_after(false, ws_cond_signal);
  gone_after(false, ws_cond_broadcast);
}

/// The mutex is the caller's until its wait can be found.
static void test_unlocks_last(void)
{
  scene_begin(2);
  ws_store_release(&holds_enter, 1);
  push_fiber(wait_once, NULL, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  CU_ASSERT_FALSE(ws_mutex_trylock(&first));
  test_gate_let(&scene.gate, 1);
  ws_mutex_lock(&first);
  ws_cond_signal(&cond);
  ws_mutex_unlock(&first);
  ws_pool_wait(scene.pool);
  CU_ASSERT(has_letter(NULL));
  scene_end();
}

static void wait_cancelled(void *unused)
{
  (void)unused;
  ws_mutex_lock(&first);
  note(ws_cond_wait(&cond, &first) == -ECANCELED);
  note(!ws_mutex_trylock(&first));
  ws_mutex_unlock(&first);
}

/// A wait that does not begin lets the others have the mutex, too.
static void test_cancelled_before(void)
{
  ws_cancel_t cancel = WS_CANCEL_INIT;
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .cancel = &cancel};
  scene_begin(1);
  ws_cancel_request(&cancel);
  ws_store_release(&holds_unlock, 1);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_cancelled, NULL, NULL, &options), 0);
  CU_ASSERT(test_gate_await(&scene.gate, 1)); // it has unlocked
  CU_ASSERT(ws_mutex_trylock(&first));
  ws_mutex_unlock(&first);
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  CU_ASSERT_EQUAL(first.word, 0);
  scene_end();
}

/// A signal ends one wait. The test gets the mutex after all waits that the signal has ended.
static void test_signal_ends_one(void)
{
  scene_begin(1);
  for (uint32_t i = 1; i <= 3; i++)
    push_fiber(wait_once, NULL, NULL);
  CU_ASSERT(await_parked(3));
  for (uint32_t i = 1; i <= 3; i++) {
    ws_cond_signal(&cond);
    ws_mutex_lock(&first);
    CU_ASSERT_EQUAL(ws_load_acquire(&scene.letters), i);
    CU_ASSERT_EQUAL(parked(), 3 - i);
    ws_mutex_unlock(&first);
  }
  ws_pool_wait(scene.pool);
  scene_end();
}

static void wait_uncancelled(void *unused)
{
  (void)unused;
  ws_mutex_lock(&first);
  ws_mutex_unlock(&first);
  ws_group_wait(&scene.group, scene.pool);
  write_letter('u');
}

/// A cancel does not end a wait that returns nothing.
static void test_lock_is_not_cancelled(void)
{
  ws_cancel_t cancel = WS_CANCEL_INIT;
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .cancel = &cancel};
  scene_begin(1);
  ws_group_init(&scene.group, 1);
  ws_mutex_lock(&first);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_uncancelled, NULL, NULL, &options), 0);
  CU_ASSERT(await_parked(1));
  ws_cancel_request(&cancel);
  CU_ASSERT_EQUAL(parked(), 1);
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, wait_uncancelled, NULL, NULL, &options), 0);
  CU_ASSERT(await_parked(2));
  ws_mutex_unlock(&first);
  CU_ASSERT(await_parked(2)); // for the group
  ws_group_complete(&scene.group, 1);
  ws_pool_wait(scene.pool);
  CU_ASSERT_STRING_EQUAL(scene.letter, "uu");
  scene_end();
}

static void wait_with_two(void)
{
  scene_begin(1);
  push_fiber(wait_with, &first, NULL);
  if (!await_parked(1))
    return;
  push_fiber(wait_with, &second, NULL);
  if (await_parked(2))
    ws_cond_signal(&cond);
}

/// Two waits at one time with two mutexes.
static void test_two_mutexes(void)
{
  CU_ASSERT(dies_with(wait_with_two, "ws_cond_wait(): two waits at one time"));
}

static void test_seams(void)
{
  seam.ws_lot_enter = ws_lot_enter_seam;
  seam.ws_lot_move = ws_lot_move_seam;
  seam.ws_lot_unpark = ws_lot_unpark_seam;
  seam.pthread_mutex_lock = pthread_mutex_lock_seam;
  seam.ws_mutex_unlock = ws_mutex_unlock_seam;
}

TEST_MAIN_SEAMS(test_seams, "sync_steps", TEST_CASE(test_two_mutexes), TEST_CASE(test_short_opening),
                TEST_CASE(test_late_wake), TEST_CASE(test_gone_gate), TEST_CASE(test_other_mutex),
                TEST_CASE(test_broadcast_to_free), TEST_CASE(test_lock_is_not_cancelled),
                TEST_CASE(test_gone_after_signal), TEST_CASE(test_unlocks_last),
                TEST_CASE(test_cancelled_before), TEST_CASE(test_signal_ends_one))
