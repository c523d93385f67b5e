// SPDX-License-Identifier: BSD-3-Clause
/// @file test_escape.c
/// A task must return (ws_escape.h): one that ends a worker ends the process. A request to cancel a thread
/// acts when it runs no task, or sleeps for an event. test_cxx_death.cpp has the threads that call the
/// pool.
#include "../../support/ws_death.h"

#include "../../../pool/ws_process.h"
#include "../../../sleep/ws_sleep_state.h"

static ws_pool_t *pool;
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

static void end_a_worker(void)
{
  begin(1);
  test_push(pool, end_the_thread, NULL, NULL);
  end();
}

TEST_CASE(the_process_ends)
{
#if (!defined(__x86_64__) && !defined(__aarch64__)) || !defined(__GLIBC__) // ws_pool.h: the thread ends
  return;
#endif
  char message[120];
  snprintf(message, sizeof message,
           "a task (function %p, argument (nil)), or a function that the pool called ended its thread",
           (void *)(uintptr_t)end_the_thread);
  CU_ASSERT_TRUE(dies_with(end_a_worker, message));
}

static ws_au64_t ran, after_wait;

static void ask_for_cancellation(void *unused)
{
  pthread_cancel(pthread_self());
  pthread_testcancel();
  ws_add_relaxed(&ran, 1);
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
  CU_ASSERT_TRUE_FATAL(test_until_count(&ran, 1));
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
