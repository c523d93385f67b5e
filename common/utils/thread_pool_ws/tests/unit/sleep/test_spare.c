// SPDX-License-Identifier: BSD-3-Clause
/// @file test_spare.c
/// A pinned worker is not woken in the place of the thread that pushes. Linked with --wrap: where the threads
/// outside run, and their priority, are the test's, and the guard can be held.
#define _GNU_SOURCE
#include <sched.h>

#include "../../../pool/ws_process.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

/// Of so many wakes that would stop the producer one is made (ws_wake.c).

static ws_pool_t *pool;
static int32_t cores[2]; ///< two CPUs of the process
static ws_au32_t producer_cpu; ///< where the threads outside run; CPU + 1
static ws_au32_t priority; ///< of theirs
static ws_au32_t guard_held; ///< bool

static int32_t ws_os_cpu_seam(void)
{
  const uint32_t cpu = ws_load_acquire(&producer_cpu);
  return ws_self()->worker || cpu == 0 ? __real_ws_os_cpu() : (int32_t)cpu - 1;
}

static uint32_t ws_os_priority_seam(void)
{
  return ws_load_acquire(&priority);
}

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  const int result = __real_ws_os_futex_wait(word, expected, timeout_ns);
  while (ws_load_acquire(&guard_held) && word == &pool->guard)
    test_sleep_ms(1);
  return result;
}

/// @return whether the process has two CPUs, which are then known
static bool has_two_cpus(void)
{
  cpu_set_t set;
  uint32_t found = 0;
  CU_ASSERT_EQUAL(sched_getaffinity(0, sizeof(set), &set), 0);
  for (int32_t cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
    if (CPU_ISSET((size_t)cpu, &set))
      cores[found++] = cpu;
  if (found < 2)
    printf("(skipped: one CPU) ");
  return found == 2;
}

/// Workers pinned to cores[], and a guard that is held. The threads outside run on cores[0].
static void begin(uint32_t workers)
{
  ws_settings_t settings = test_settings(workers);
  settings.spin = WS_SPIN_OFF;
  settings.cores = cores;
  settings.core_count = workers;
  ws_store_release(&priority, 0);
  ws_store_release(&producer_cpu, (uint32_t)cores[0] + 1);
  pool = test_create(&settings);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  ws_store_release(&guard_held, 1);
}

static void end(void)
{
  ws_store_release(&guard_held, 0);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
}

static uint64_t sent(void)
{
  return test_stats(pool).outside.wakes_sent;
}

static uint64_t spared(void)
{
  return test_stats(pool).spared_wakes;
}

static void a_push_leaves_it_asleep(void)
{
  if (!has_two_cpus())
    return;
  begin(1);
  ws_au64_t count = {0};
  for (uint32_t i = 0; i < 10; i++)
    test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(sent(), 0);
  CU_ASSERT_EQUAL(spared(), 10);
  CU_ASSERT_EQUAL(ws_load_relaxed(&pool->guard), WS_GUARD_STANDING); // it sees to the tasks
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0); // the join runs them
  CU_ASSERT_EQUAL(test_value(&count), 10);
  CU_ASSERT_EQUAL(test_stats(pool).outside.run_tasks, 10);
  end();
}

static void another_sleeper_is_woken(void)
{
  if (!has_two_cpus())
    return;
  for (uint32_t own = 0; own < 2; own++) {
    begin(2);
    ws_store_relaxed(&pool->lifted, 1); // both may be awake, however few CPUs there are
    ws_store_release(&producer_cpu, (uint32_t)cores[own] + 1);
    test_gate_t gate;
    test_gate_init(&gate);
    test_push(pool, test_gate_task, &gate, NULL);
    CU_ASSERT_TRUE(test_gate_await(&gate, 1));
    CU_ASSERT_EQUAL(ws_load_relaxed(&pool->worker[own]->queue.count.run), 0);
    CU_ASSERT_EQUAL(sent(), 1);
    test_push(pool, test_empty_task, NULL, NULL); // the other one would stop the producer
    CU_ASSERT_EQUAL(sent(), 1);
    CU_ASSERT_TRUE(spared() >= 1);
    test_gate_let(&gate, 1);
    end();
    test_gate_destroy(&gate);
  }
}

static bool has_run(void *count)
{
  return test_value(count) == 1;
}

/// The producer goes on without a join: the guard has the worker take the task.
static void the_guard_wakes_it(void)
{
  if (!has_two_cpus())
    return;
  begin(1);
  ws_au64_t count = {0};
  test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(sent(), 0);
  ws_store_release(&guard_held, 0);
  CU_ASSERT_TRUE(test_until(has_run, &count));
  end();
}

/// The kernel stops a thread for a higher priority only.
static void a_realtime_producer_is_not_stopped(void)
{
  if (!has_two_cpus())
    return;
  begin(1);
  ws_store_release(&priority, 1);
  ws_au64_t count = {0};
  test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(sent(), 1);
  CU_ASSERT_TRUE(test_until(has_run, &count));
  end();
}

static void a_producer_elsewhere_wakes_it(void)
{
  if (!has_two_cpus())
    return;
  begin(1);
  ws_store_release(&producer_cpu, (uint32_t)cores[1] + 1);
  ws_au64_t count = {0};
  test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(sent(), 1);
  CU_ASSERT_EQUAL(spared(), 0);
  CU_ASSERT_TRUE(test_until(has_run, &count));
  end();
}

/// A hint wakes it no more than a push does.
static void a_hint_leaves_it_asleep(void)
{
  if (!has_two_cpus())
    return;
  begin(1);
  test_push(pool, test_empty_task, NULL, NULL); // the pool knows where the producer is
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  ws_pool_prewake(pool, 1, 1000);
  CU_ASSERT_EQUAL(sent(), 0);
  end();
}

static void test_seams(void)
{
  seam.ws_os_cpu = ws_os_cpu_seam;
  seam.ws_os_priority = ws_os_priority_seam;
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
}

TEST_MAIN_SEAMS(test_seams, "spare", TEST_CASE(a_push_leaves_it_asleep), TEST_CASE(another_sleeper_is_woken),
                TEST_CASE(the_guard_wakes_it), TEST_CASE(a_realtime_producer_is_not_stopped),
                TEST_CASE(a_producer_elsewhere_wakes_it), TEST_CASE(a_hint_leaves_it_asleep))
