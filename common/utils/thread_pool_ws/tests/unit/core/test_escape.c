// SPDX-License-Identifier: BSD-3-Clause
/// @file test_escape.c
/// A task must return (ws_escape.h): one that ends a worker ends the process. A request to cancel a thread
/// acts when it runs no task, or sleeps for an event. test_cxx_death.cpp has the threads that call the
/// pool.
#include "../../support/ws_death.h"

#include "../../../include/ws_reduce.h"
#include "../../../include/ws_scan.h"
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

static void await_and_end(void *unused, uint64_t first, uint64_t last, void *result)
{
  ws_pool_await(pool, ws_group_tag(&gate), &(ws_event_t){never, end_the_thread, NULL});
}

static void leave_a_loop(void)
{
  begin(1);
  ws_reduce(pool, &(ws_reduce_t){.piece = await_and_end, .grain = 1}, 0, 2, NULL);
}

static void await_in_a_block(void *unused, void *memory, uint32_t block)
{
  await_and_end(NULL, 0, 0, NULL);
}

static void leave_a_scan(void)
{
  void *const memory[1] = {NULL};
  pool = test_pool(1);
  ws_pool_stop(pool, WS_STOP_ABORT); // so that the caller scans
  ws_scan(pool, &(ws_scan_t){.scan = await_in_a_block, .block = memory, .count = 1});
}

/// The end of the thread may pass the wait for the event, and nothing outside of it.
TEST_CASE(a_wait_for_an_event_in_a_loop_or_scan_does_not_end_the_thread)
{
#if (!defined(__x86_64__) && !defined(__aarch64__)) || !defined(__GLIBC__)
  return;
#endif
  CU_ASSERT_TRUE(dies_with(leave_a_loop, "a function that the pool called ended its thread"));
  CU_ASSERT_TRUE(dies_with(leave_a_scan, "a function that the pool called ended its thread"));
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
