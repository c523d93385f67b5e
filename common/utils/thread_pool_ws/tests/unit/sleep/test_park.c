// SPDX-License-Identifier: BSD-3-Clause
/// @file test_park.c
/// Sleep and wake: no wake is lost, none is sent for nothing, an idle pool stands still.
/// Linked with --wrap of the futex calls: what each thread asks of the kernel is counted.

#include <sched.h>

#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

static ws_au64_t waits, wakes;
static _Thread_local uint64_t own_wakes; ///< of workers
static _Thread_local const ws_au32_t *guard; ///< wakes of this word are not counted in own_wakes
/// 1 = futex waits linger before they begin, so that a wake must find the word changed
static ws_au32_t stall;

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  ws_add_relaxed(&waits, 1);
  if (ws_load_relaxed(&stall)) {
    sched_yield();
    sched_yield();
  }
  return __real_ws_os_futex_wait(word, expected, timeout_ns);
}

static void ws_os_futex_wake_seam(ws_au32_t *word, uint32_t count)
{
  ws_add_relaxed(&wakes, 1);
  own_wakes += word != guard;
  __real_ws_os_futex_wake(word, count);
}

/// One task at a time, to workers that have just fallen asleep, or are about to. Each round takes a wake,
/// which takes milliseconds on a busy machine.
#define WAKES 200u

static void no_wake_is_lost(void)
{
  for (uint32_t spin = WS_SPIN_OFF; spin <= WS_SPIN_AUTO; spin++) {
    for (uint32_t slow = 0; slow <= 1; slow++) {
      ws_settings_t settings = test_settings(2);
      settings.spin = (ws_spin_t)spin;
      settings.spin_ns_max = 2000;
      ws_pool_t *pool = test_create(&settings);
      ws_store_relaxed(&stall, slow);
      for (uint32_t round = 0; round < WAKES; round++) {
        ws_group_t group;
        ws_group_init(&group, 1);
        test_push(pool, test_empty_task, NULL, &group);
        ws_group_wait(&group, NULL); // the main thread does not help: only a worker can run it
      }
      ws_store_relaxed(&stall, 0);
      test_destroy(pool);
    }
  }
}

/// A second sleeper must be woken for a second task while the first one is held.
static void all_workers_are_used_while_others_block(void)
{
  ws_pool_t *pool = test_pool(3);
  test_gate_t gate;
  test_gate_init(&gate);
  for (uint32_t round = 0; round < 50; round++) {
    for (uint32_t i = 0; i < 3; i++)
      test_push(pool, test_gate_task, &gate, NULL);
    CU_ASSERT_TRUE_FATAL(test_gate_await(&gate, 3));
    test_gate_let(&gate, 3);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  }
  test_destroy(pool);
  test_gate_destroy(&gate);
}

static void no_worker_is_woken_when_none_sleeps(void)
{
  ws_pool_t *pool = test_pool(1);
  test_gate_t gate;
  test_gate_init(&gate);
  test_push(pool, test_gate_task, &gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  const uint64_t before = own_wakes;
  for (uint32_t i = 0; i < 1000; i++)
    test_push(pool, test_empty_task, NULL, NULL);
  CU_ASSERT_EQUAL(own_wakes, before);
  test_gate_let(&gate, 1);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

/// A push to sleeping workers wakes one of them, however many tasks it brings, and the guard if that lies.
/// The rest of the waking is the workers' business.
static void a_burst_wakes_once(void)
{
  ws_settings_t settings = test_settings(4);
  ws_pool_t *pool = test_create(&settings);
  ws_task_t tasks[64];
  for (uint32_t i = 0; i < 64; i++)
    tasks[i] = (ws_task_t){.func = test_empty_task};
  uint32_t most = 0;
  guard = &pool->guard;
  for (uint32_t round = 0; round < 10; round++) {
    CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
    const uint64_t before = own_wakes;
    CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, 64), 64);
    const uint32_t sent = (uint32_t)(own_wakes - before);
    most = sent > most ? sent : most;
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  }
  CU_ASSERT_EQUAL(most, 1);
  guard = NULL;
  test_destroy(pool);
}

/// A thread of a quiet pool, such as a guard that was woken a moment ago, may wait for a CPU.
static bool others_sleep(void *pool_arg)
{
  const ws_pool_t *pool = pool_arg;
  return ws_load_acquire(&pool->guard) != WS_GUARD_STANDING // else it sleeps between two looks only
         && test_others_sleep();
}

/// Nothing to do: no thread of the pool asks the kernel for anything, and no counter moves.
static void an_idle_pool_stands_still(void)
{
  for (uint32_t workers = 1; workers <= 8; workers += 7) {
    ws_pool_t *pool = test_pool(workers);
    ws_au64_t count = {0};
    for (uint32_t i = 0; i < 100; i++)
      test_push(pool, test_count_task, &count, NULL);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
    CU_ASSERT_TRUE_FATAL(test_until(others_sleep, pool));
    const uint64_t parks = TEST_SUM(pool, parks), spins = TEST_SUM(pool, spins);
    const uint64_t looks = test_stats(pool).guard_looks;
    const uint64_t calls = test_value(&waits) + test_value(&wakes);
    test_sleep_ms(300);
    CU_ASSERT_EQUAL(TEST_SUM(pool, parks), parks);
    CU_ASSERT_EQUAL(TEST_SUM(pool, spins), spins);
    CU_ASSERT_EQUAL(test_stats(pool).guard_looks, looks);
    CU_ASSERT_EQUAL(test_value(&waits) + test_value(&wakes), calls);
    CU_ASSERT_EQUAL(test_stats(pool).workers_awake, 0);
    CU_ASSERT_EQUAL(test_stats(pool).workers_active, 0);
    test_destroy(pool);
  }
}

/// At rest: every worker's bit is set, no thread is counted as searching, blocked or helping.
static void books_are_balanced_at_rest(void)
{
  ws_pool_t *pool = test_pool(3);
  for (uint32_t round = 0; round < 8; round++) {
    ws_group_t group;
    ws_group_init(&group, 50);
    for (uint32_t i = 0; i < 50; i++)
      test_push(pool, test_empty_task, NULL, &group);
    ws_group_wait(&group, pool);
    CU_ASSERT_TRUE_FATAL(test_until_quiet(pool));
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool->sleepers[0]), 7);
    CU_ASSERT_EQUAL(ws_searching(pool), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool->blocked), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool->helpers), 0);
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool->waiters), 0);
    for (uint32_t i = 0; i < 3; i++)
      CU_ASSERT_EQUAL(ws_load_relaxed(&pool->worker[i]->token), 0);
  }
  test_destroy(pool);
}

static void test_seams(void)
{
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
  seam.ws_os_futex_wake = ws_os_futex_wake_seam;
}

TEST_MAIN_SEAMS(test_seams, "park", TEST_CASE(no_wake_is_lost),
                TEST_CASE(all_workers_are_used_while_others_block),
                TEST_CASE(no_worker_is_woken_when_none_sleeps), TEST_CASE(a_burst_wakes_once),
                TEST_CASE(books_are_balanced_at_rest), TEST_ALONE(an_idle_pool_stands_still))
