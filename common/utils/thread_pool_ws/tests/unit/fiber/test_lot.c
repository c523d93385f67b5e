// SPDX-License-Identifier: BSD-3-Clause
/// @file test_lot.c
/// The parking lot's races, step by step. Linked with --wrap=ws_lot_enter: a fiber's thread can be held
/// after the fiber has left its stack and before it is enqueued, or directly after that.
#include "../../../fiber/ws_fiber_process.h"
#include "../../../fiber/ws_lot.h"
#include "../../support/ws_seam.h"
#include "fiber_scene.h"

enum { HOLD_NOT, HOLD_BEFORE, HOLD_AFTER };
static ws_au32_t holds; ///< the next thread only
static ws_au32_t waits; ///< what that thread's call returned

static bool ws_lot_enter_seam(ws_waiter_t *waiter)
{
  const uint32_t held = ws_xchg_acq_rel(&holds, HOLD_NOT);
  if (held == HOLD_BEFORE)
    test_gate_task(&scene.gate);
  const bool entered = __real_ws_lot_enter(waiter);
  if (held == HOLD_AFTER)
    test_gate_task(&scene.gate);
  if (held != HOLD_NOT)
    ws_store_release(&waits, entered);
  return entered;
}

static ws_sem_t sem;
static ws_cancel_t cancel;

static void wait_for_unit(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == 0);
  write_letter('u');
}

static void wait_for_cancel(void *unused)
{
  (void)unused;
  note(ws_sem_wait(&sem) == -ECANCELED);
  write_letter('c');
}

static void begin(uint32_t workers, uint32_t held)
{
  scene_begin(workers);
  sem = (ws_sem_t)WS_SEM_INIT(0);
  ws_cancel_init(&cancel);
  ws_store_release(&holds, held);
}

static void push_cancelled(void (*func)(void *))
{
  const ws_fiber_options_t options = {.stack_bytes = WS_FIBER_STACK_BYTES, .cancel = &cancel};
  CU_ASSERT_EQUAL(ws_fiber_push(scene.pool, func, NULL, NULL, &options), 0);
}

/// The wake comes after the fiber has left its stack and before it is enqueued.
static void test_wake_before(void)
{
  begin(2, HOLD_BEFORE);
  push_fiber(wait_for_unit, NULL, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_sem_post(&sem, 1);
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  CU_ASSERT_FALSE(ws_load_acquire(&waits));
  CU_ASSERT_STRING_EQUAL(scene.letter, "u");
  scene_end();
}

static void test_cancel_before(void)
{
  begin(2, HOLD_BEFORE);
  push_cancelled(wait_for_cancel);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  ws_cancel_request(&cancel);
  ws_sem_post(&sem, 1); // comes later: the unit stays
  test_gate_let(&scene.gate, 1);
  ws_pool_wait(scene.pool);
  CU_ASSERT_FALSE(ws_load_acquire(&waits));
  CU_ASSERT_STRING_EQUAL(scene.letter, "c");
  CU_ASSERT(ws_sem_trywait(&sem));
  scene_end();
}

static void *abort_pool(void *unused)
{
  (void)unused;
  ws_pool_stop(scene.pool, WS_STOP_ABORT);
  return NULL;
}

static bool is_aborted(void *unused)
{
  (void)unused;
  return ws_load_relaxed(&scene.pool->aborted) && ws_load_relaxed(&scene.pool->state) == WS_ABORTING;
}

static void test_abort_before(void)
{
  begin(2, HOLD_BEFORE);
  push_fiber(wait_for_cancel, NULL, NULL);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  test_threads_t threads = {0};
  test_spawn(&threads, abort_pool, NULL);
  CU_ASSERT(test_until(is_aborted, NULL));
  test_gate_let(&scene.gate, 1);
  test_join(&threads);
  CU_ASSERT_FALSE(ws_load_acquire(&waits));
  CU_ASSERT_STRING_EQUAL(scene.letter, "c");
  scene_end();
}

static bool has_letter(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.letters) == 1;
}

/// The fiber is resumed, and ends, while the thread that enqueued it has not moved on.
static void end_after(void (*func)(void *), void (*wake)(void), const char *letter)
{
  begin(2, HOLD_AFTER);
  push_cancelled(func);
  CU_ASSERT(test_gate_await(&scene.gate, 1));
  wake();
  CU_ASSERT(test_until(has_letter, NULL)); // on the other worker
  for (uint32_t i = 0; i < 40; i++)
    push_fiber(wait_for_unit, NULL, NULL); // the stack is used again
  CU_ASSERT(await_parked(40));
  test_gate_let(&scene.gate, 1);
  ws_sem_post(&sem, 40);
  ws_pool_wait(scene.pool);
  CU_ASSERT(ws_load_acquire(&waits));
  CU_ASSERT_EQUAL(scene.letter[0], letter[0]);
  scene_end();
}

static void post(void)
{
  ws_sem_post(&sem, 1);
}

static void request(void)
{
  ws_cancel_request(&cancel);
}

static void test_ends_after(void)
{
  end_after(wait_for_unit, post, "u");
  end_after(wait_for_cancel, request, "c");
}

static bool may_always(void *unused)
{
  (void)unused;
  return true;
}

static uint32_t object;

static void wait_brief(void *unused)
{
  (void)unused;
  note(ws_lot_park(ws_lot_brief(&object), may_always, NULL, UINT64_MAX, false) == 0);
  write_letter('b');
}

static void wait_owned(void *unused)
{
  (void)unused;
  note(ws_lot_park(&object, may_always, NULL, UINT64_MAX, false) == 0);
  write_letter('o');
}

/// A late wake of an object that is gone reaches no lock at the same address.
static void test_late_wake(void)
{
  begin(1, HOLD_NOT);
  push_fiber(wait_brief, NULL, NULL);
  push_fiber(wait_owned, NULL, NULL);
  CU_ASSERT(await_parked(2));
  ws_lot_unpark(ws_lot_brief(&object), UINT32_MAX, NULL, NULL);
  CU_ASSERT_EQUAL(parked(), 1);
  CU_ASSERT(test_until(has_letter, NULL));
  ws_lot_unpark(&object, UINT32_MAX, NULL, NULL);
  ws_pool_wait(scene.pool);
  CU_ASSERT_STRING_EQUAL(scene.letter, "bo");
  scene_end();
}

#define PAIRS 8u
#define PASSES 3000u

static ws_sem_t ping[PAIRS], pong[PAIRS];

static void pass_ball(ws_sem_t *mine, ws_sem_t *other, uint64_t *random)
{
  for (uint32_t i = 0; i < PASSES; i++) {
    if (test_random(random) % 16 == 0)
      ws_yield();
    note(ws_sem_wait(mine) == 0);
    ws_sem_post(other, 1);
  }
}

static void play_ping(void *index_arg)
{
  const uint32_t index = *(const uint32_t *)index_arg;
  uint64_t random = test_seed() + index;
  pass_ball(&ping[index], &pong[index], &random);
}

static void play_pong(void *index_arg)
{
  const uint32_t index = *(const uint32_t *)index_arg;
  uint64_t random = test_seed() - index;
  pass_ball(&pong[index], &ping[index], &random);
}

/// Many parks and wakes that meet; a lost wake would end the test by its deadline.
static void test_ping_pong(void)
{
  begin(3, HOLD_NOT);
  uint32_t index[PAIRS];
  test_seed(); // prints it
  for (uint32_t i = 0; i < PAIRS; i++) {
    index[i] = i;
    ws_sem_init(&ping[i], 1);
    ws_sem_init(&pong[i], 0);
    push_fiber(play_ping, &index[i], NULL);
    push_fiber(play_pong, &index[i], NULL);
  }
  ws_pool_wait(scene.pool);
  for (uint32_t i = 0; i < PAIRS; i++)
    CU_ASSERT(ping[i].word / 2 == 1 && pong[i].word / 2 == 0);
  scene_end();
}

static void test_seams(void)
{
  seam.ws_lot_enter = ws_lot_enter_seam;
}

TEST_MAIN_SEAMS(test_seams, "lot", TEST_CASE(test_wake_before), TEST_CASE(test_cancel_before),
                TEST_CASE(test_abort_before), TEST_CASE(test_ends_after), TEST_CASE(test_late_wake),
                TEST_CASE(test_ping_pong))
