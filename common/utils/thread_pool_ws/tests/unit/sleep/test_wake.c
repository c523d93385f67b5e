// SPDX-License-Identifier: BSD-3-Clause
/// @file test_wake.c
/// Which thread wakes how many workers: a push one; a woken worker two more; the last searcher one, for the
/// pushes that kept silent because it searched. Linked with --wrap: the pool believes in eight CPUs and two
/// caches, the guard never looks, and workers can be held when they are woken, or while they spin.
#define _GNU_SOURCE
#include <sched.h>

#include "../../../include/ws_node.h"
#include "../../../pool/ws_process.h"
#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

#define WORKERS 3u

static ws_pool_t *pool;
static test_gate_t gate;
static ws_au32_t guard_held; ///< bool
static ws_au32_t woken_held, woken; ///< bool: all but the first that is woken; how many were
static ws_au32_t spinner_held, spinners; ///< bool; how many are held

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  const int result = __real_sched_getaffinity(pid, bytes, set);
  for (size_t cpu = 8 * bytes; CPU_COUNT_S(bytes, set) > 8;)
    CPU_CLR_S(--cpu, bytes, set);
  for (size_t cpu = 0; CPU_COUNT_S(bytes, set) < 8; cpu++)
    CPU_SET_S(cpu, bytes, set);
  return result;
}

/// The test's control group may have less than eight CPUs' worth.
static uint32_t ws_os_quota_cpus_seam(void)
{
  return UINT32_MAX;
}

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  const int result = __real_ws_os_futex_wait(word, expected, timeout_ns);
  while (ws_load_acquire(&guard_held) && word == &pool->guard)
    test_sleep_ms(1);
  return result;
}

static int ws_os_futex_wait_until_seam(ws_au32_t *word, uint32_t expected, uint64_t deadline_ns)
{
  const int result = __real_ws_os_futex_wait_until(word, expected, deadline_ns);
  if (result == 0 && ws_load_acquire(word) != expected && ws_add_acq_rel(&woken, 1) > 0)
    while (ws_load_acquire(&woken_held))
      test_sleep_ms(1);
  return result;
}

static void ws_relax_seam(void)
{
  __real_ws_relax();
  if (!ws_load_acquire(&spinner_held))
    return;
  ws_add_acq_rel(&spinners, 1);
  while (ws_load_acquire(&spinner_held))
    test_sleep_ms(1);
  ws_sub_acq_rel(&spinners, 1);
}

static bool ws_producer_on_cpu_seam(const struct ws_pool_s *of, int32_t cpu)
{
  (void)of;
  (void)cpu;
  return false;
}

/// Two last-level caches: the last CPU that can be has one of its own.
static void ws_near_plan_seam(struct ws_pool_s *of)
{
  of->caches = 2;
  of->cache_of[WS_CPUS_MAX - 1] = 1;
}

static void begin(ws_spin_t spin)
{
  ws_settings_t settings = test_settings(WORKERS);
  settings.spin = spin;
  pool = test_create(&settings);
  test_gate_init(&gate);
}

static void end(uint32_t tasks)
{
  ws_store_release(&woken_held, 0);
  ws_store_release(&spinner_held, 0);
  ws_store_release(&guard_held, 0);
  test_gate_let(&gate, tasks);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  test_destroy(pool);
  test_gate_destroy(&gate);
}

/// In one go: one fence, one decision.
static void push_gates(uint32_t count)
{
  ws_task_t tasks[WORKERS];
  for (uint32_t i = 0; i < count; i++)
    tasks[i] = (ws_task_t){.func = test_gate_task, .arg = &gate};
  CU_ASSERT_EQUAL(ws_pool_push_batch(pool, tasks, count), count);
}

/// All workers sleep. @return how many wake calls a burst has cost when its first task has begun, and those
/// that are woken for the others have not got to them
static uint64_t wakes_of_a_burst(uint32_t tasks)
{
  CU_ASSERT_TRUE(test_until_quiet(pool));
  const uint64_t sent = TEST_SUM(pool, wakes_sent), outside = test_stats(pool).outside.wakes_sent;
  ws_store_release(&guard_held, 1);
  ws_store_release(&woken, 0);
  ws_store_release(&woken_held, 1);
  push_gates(tasks);
  CU_ASSERT_TRUE(test_gate_await(&gate, 1));
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, outside + 1);
  return TEST_SUM(pool, wakes_sent) - sent;
}

static void a_woken_worker_wakes_two(void)
{
  begin(WS_SPIN_OFF);
  CU_ASSERT_EQUAL(wakes_of_a_burst(3), 3);
  ws_store_release(&woken_held, 0);
  CU_ASSERT_TRUE(test_gate_await(&gate, 2));
  end(3);
}

static void no_more_are_woken_than_tasks_wait(void)
{
  for (uint32_t tasks = 1; tasks <= 2; tasks++) {
    begin(WS_SPIN_OFF);
    CU_ASSERT_EQUAL(wakes_of_a_burst(tasks), tasks);
    end(tasks);
  }
}

static bool one_is_awake(void *unused)
{
  (void)unused;
  return test_stats(pool).workers_awake == 1;
}

static bool one_spins(void *unused)
{
  (void)unused;
  return ws_load_acquire(&spinners) == 1;
}

/// One worker spins, the budget of awake workers keeps the others asleep. Pushes rely on the one that spins.
/// It takes one task and sees to it that the other does not wait.
static void the_last_searcher_wakes_another(void)
{
  ws_process_awake_add(6); // with one of the pool's seven: as many as may be awake while one spins
  begin(WS_SPIN_HOT);
  ws_store_release(&guard_held, 1);
  CU_ASSERT_TRUE(test_until(one_is_awake, NULL));
  ws_store_release(&spinner_held, 1);
  CU_ASSERT_TRUE(test_until(one_spins, NULL));
  const uint64_t outside = test_stats(pool).outside.wakes_sent;
  push_gates(2);
  CU_ASSERT_EQUAL(test_stats(pool).outside.wakes_sent, outside);
  ws_store_release(&spinner_held, 0);
  CU_ASSERT_TRUE(test_gate_await(&gate, 2));
  ws_process_awake_sub(6);
  end(2);
}

static void note_worker(void *index)
{
  ws_store_release((ws_au32_t *)index, 1 + (uint32_t)ws_worker_index());
}

static bool has_run(void *index)
{
  return ws_load_acquire((ws_au32_t *)index) > 0;
}

/// The producer is on no CPU of the second cache. Of the sleepers worker 2 alone is not, either.
static void a_worker_near_the_producer_is_woken(void)
{
  static ws_au32_t ran;
  begin(WS_SPIN_OFF);
  CU_ASSERT_TRUE(test_until_quiet(pool));
  for (uint32_t i = 0; i < WORKERS; i++)
    ws_store_relaxed(&pool->worker[i]->seen_cpu, WS_CPUS_MAX - (i == 2));
  ws_store_release(&guard_held, 1); // it would wake another one if this machine is busy
  test_push(pool, note_worker, &ran, NULL);
  CU_ASSERT_TRUE(test_until(has_run, &ran)); // ws_pool_wait would run it here
  CU_ASSERT_EQUAL(ws_load_acquire(&ran), 1 + 2);
  end(0);
}

static bool has_nodes;

static void ws_numa_plan_seam(struct ws_pool_s *of, const int32_t *cpu)
{
  (void)cpu;
  of->tasks.kinds = WS_KIND_NODE + 2 * has_nodes;
  if (!has_nodes)
    return;
  of->nodes = (ws_nodes_t){.count = 2, .near = {{0, 1}, {1, 0}}};
  of->nodes.of_cpu[WS_CPUS_MAX - 1] = of->nodes.of_number[1] = 1;
}

/// Node 1 has the last CPU that can be. Of the sleepers worker 1 alone was seen there.
static void a_worker_of_the_tasks_node_is_woken(void)
{
  static ws_au32_t ran;
  has_nodes = true;
  begin(WS_SPIN_OFF);
  has_nodes = false;
  CU_ASSERT_TRUE(test_until_quiet(pool));
  for (uint32_t i = 0; i < WORKERS; i++)
    ws_store_relaxed(&pool->worker[i]->seen_cpu, WS_CPUS_MAX - (i != 1));
  ws_store_release(&guard_held, 1); // it would wake another one if this machine is busy
  const ws_task_t task = {.func = note_worker, .arg = &ran, .node = ws_node_hint(1)};
  CU_ASSERT_EQUAL(ws_pool_push(pool, task), 0);
  CU_ASSERT_TRUE(test_until(has_run, &ran)); // ws_pool_wait would run it here
  CU_ASSERT_EQUAL(ws_load_acquire(&ran), 1 + 1);
  end(0);
}

static void test_seams(void)
{
  seam.sched_getaffinity = sched_getaffinity_seam;
  seam.ws_os_quota_cpus = ws_os_quota_cpus_seam;
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
  seam.ws_os_futex_wait_until = ws_os_futex_wait_until_seam;
  seam.ws_relax = ws_relax_seam;
  seam.ws_producer_on_cpu = ws_producer_on_cpu_seam;
  seam.ws_near_plan = ws_near_plan_seam;
  seam.ws_numa_plan = ws_numa_plan_seam;
}

TEST_MAIN_SEAMS(test_seams, "wake", TEST_CASE(a_woken_worker_wakes_two),
                TEST_CASE(no_more_are_woken_than_tasks_wait), TEST_CASE(the_last_searcher_wakes_another),
                TEST_CASE(a_worker_near_the_producer_is_woken),
                TEST_CASE(a_worker_of_the_tasks_node_is_woken))
