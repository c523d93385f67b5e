// SPDX-License-Identifier: BSD-3-Clause
/// @file test_escape.c
/// A task must return (ws_escape.h): one that ends its thread ends the process, wherever it runs. A request
/// to cancel a thread that runs tasks acts when it runs none. test_cxx_death.cpp has the exceptions.
#include "../../support/ws_death.h"

#include "../../../pool/ws_process.h"
#include "../../../sleep/ws_sleep_state.h"

static ws_pool_t *pool, *other;
static test_gate_t gate;

static void end_the_thread(void *unused)
{
  pthread_exit(NULL);
}

/// The pool's workers stand in the gate.
static void begin(uint32_t workers)
{
  test_gate_init(&gate);
  pool = test_pool(workers);
  test_hold(pool, &gate, workers);
}

static void end(void)
{
  test_gate_let(&gate, pool->workers);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static enum { IN_GROUP_WAIT, IN_POOL_WAIT, IN_STOP, IN_PUSH, IN_WORKER, PLACES } place;

static void end_a_thread(void)
{
  ws_group_t group;
  begin(place != IN_PUSH);
  ws_group_init(&group, 1);
  test_push(pool, end_the_thread, NULL, &group);
  if (place == IN_WORKER)
    test_gate_let(&gate, 1);
  if (place == IN_POOL_WAIT)
    ws_pool_wait(pool);
  else if (place == IN_STOP)
    ws_pool_stop(pool, WS_STOP_DRAIN);
  else
    ws_group_wait(&group, place == IN_WORKER ? NULL : pool);
}

TEST_CASE(the_process_ends)
{
#if (!defined(__x86_64__) && !defined(__aarch64__)) || !defined(__GLIBC__) // ws_pool.h: the thread ends
  return;
#endif
  char message[100];
  snprintf(message, sizeof message, "a task (function %p, argument (nil)) ended its thread",
           (void *)(uintptr_t)end_the_thread);
  for (place = 0; place < PLACES; place++)
    CU_ASSERT_TRUE(dies_with(end_a_thread, message));
}

static ws_au64_t ran, after_wait;

static void ask_for_cancellation(void *unused)
{
  pthread_cancel(pthread_self());
  pthread_testcancel();
  ws_add_relaxed(&ran, 1);
}

static void *wait_and_end(void *wait_arg)
{
  void (*const *wait)(void) = wait_arg;
  (*wait)();
  ws_add_relaxed(&after_wait, 1);
  pthread_testcancel();
  ws_add_relaxed(&after_wait, 1);
  return NULL;
}

static void wait_for_two(void)
{
  test_burst(pool, 2, ask_for_cancellation, NULL);
}

static void wait_in_a_task(void *unused)
{
  wait_for_two();
  pthread_testcancel(); // not yet
}

static void wait_for_one_that_waits(void)
{
  test_burst(pool, 1, wait_in_a_task, NULL);
}

static void push_two(void)
{
  for (uint32_t i = 0; i < 2; i++)
    test_push(pool, ask_for_cancellation, NULL, NULL);
}

/// Which joins threads, a cancellation point.
static void stop_the_other(void)
{
  pthread_cancel(pthread_self());
  CU_ASSERT_EQUAL(ws_pool_stop(other, WS_STOP_DRAIN), 0);
  ws_add_relaxed(&ran, 2);
}

/// The thread runs all tasks of the wait or of its pushes, or ends the pool, and ends then.
TEST_CASE(a_thread_is_cancelled_after_its_call)
{
  static void (*const calls[])(void) = {wait_for_two, wait_for_one_that_waits, stop_the_other, push_two};
  for (size_t i = 0; i < TEST_COUNT(calls); i++) {
    begin(calls[i] != push_two); // without workers a push runs its task
    other = test_pool(1);
    ran = after_wait = (ws_au64_t){0};
    test_in_threads(1, wait_and_end, (void *)(uintptr_t)&calls[i]);
    CU_ASSERT_EQUAL(test_value(&ran), 2);
    CU_ASSERT_EQUAL(test_value(&after_wait), 1);
    CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->helpers), 0);
    test_destroy(other);
    end();
  }
}

TEST_CASE(a_worker_is_not_cancelled)
{
  ws_group_t group;
  begin(1);
  ran = (ws_au64_t){0};
  ws_group_init(&group, 2);
  for (uint32_t i = 0; i < 2; i++)
    test_push(pool, ask_for_cancellation, NULL, &group);
  test_gate_let(&gate, 1);
  ws_group_wait(&group, NULL);
  CU_ASSERT_EQUAL(test_value(&ran), 2);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static bool never(void *unused)
{
  return false;
}

static void sleep_until_cancelled(void *unused)
{
  ws_add_relaxed(&ran, 1);
  pause(); // a cancellation point
}

static void *await_without_end(void *unused)
{
  test_push(pool, test_empty_task, NULL, NULL); // it has a lane, and helps
  ws_pool_await(pool, ws_group_tag(&gate), &(ws_event_t){never, sleep_until_cancelled, NULL});
  return unused;
}

static bool has_begun(void *unused)
{
  return test_value(&ran) > 0;
}

static void run_here(void *thread)
{
  ws_add_relaxed(&after_wait, (uint64_t)pthread_equal(*(pthread_t *)thread, pthread_self()) != 0);
}

static void *push_and_wait(void *unused)
{
  pthread_t self = pthread_self();
  ws_group_t group;
  ws_group_init(&group, 1);
  test_push(pool, test_empty_task, NULL, NULL);
  test_push(pool, run_here, &self, &group);
  ws_group_wait(&group, pool);
  return unused;
}

/// It leaves no place behind, and the next thread can wait in its lane.
TEST_CASE(a_thread_is_cancelled_as_it_sleeps_for_an_event)
{
  begin(1);
  ran = after_wait = (ws_au64_t){0};
  test_threads_t threads = {0};
  test_spawn(&threads, await_without_end, NULL);
  CU_ASSERT_TRUE_FATAL(test_until(has_begun, NULL));
  pthread_cancel(threads.thread[0]);
  test_join(&threads);
  CU_ASSERT_EQUAL(ws_load_relaxed(&ws_sleep_pool(pool)->helpers), 0);
  CU_ASSERT_EQUAL(ws_hint_load(&ws_process.helpers), 0);
  test_in_threads(1, push_and_wait, NULL);
  CU_ASSERT_EQUAL(test_value(&after_wait), 1);
  CU_ASSERT_EQUAL(test_stats(pool).lanes_used, 2);
  end();
}

TEST_MAIN("escape")
