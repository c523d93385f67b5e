// SPDX-License-Identifier: BSD-3-Clause
/// @file test_guard.c
/// Tasks may block: the cap on awake workers must never keep a queued task from starting, and must hold again
/// afterwards.
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>

#include "../../support/ws_seam.h"
#include "../../support/ws_test.h"

enum { WORKERS = 8 };

typedef struct {
  ws_pool_t *pool;
  test_gate_t gate;
  uint32_t cpus;
} scene_t;

static scene_t scene;

/// Linked with --wrap=ws_os_futex_wait: the guard can be held between two looks.
static ws_au32_t guard_held; ///< bool

static int ws_os_futex_wait_seam(ws_au32_t *word, uint32_t expected, uint64_t timeout_ns)
{
  const int result = __real_ws_os_futex_wait(word, expected, timeout_ns);
  while (ws_load_acquire(&guard_held) && word == &scene.pool->guard)
    test_sleep_ms(1);
  return result;
}

static void open_scene(uint32_t cpus, uint32_t workers)
{
  scene = (scene_t){.cpus = test_use_cpus(cpus)};
  scene.pool = test_pool(workers);
  test_gate_init(&scene.gate);
}

static void close_scene(void)
{
  test_destroy(scene.pool);
  test_gate_destroy(&scene.gate);
  test_use_cpus(0);
}

/// As many tasks as workers, and none ends before all have begun.
static void all_at_once(uint32_t workers)
{
  for (uint32_t i = 0; i < workers; i++)
    test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, workers));
  test_gate_let(&scene.gate, workers);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
}

static void eight_blocked_workers_on_one_cpu(void)
{
  open_scene(1, WORKERS);
  CU_ASSERT_EQUAL(test_stats(scene.pool).cpus, 1);
  for (uint32_t round = 0; round < 5; round++) {
    all_at_once(WORKERS);
    if (round == 2)
      CU_ASSERT_TRUE(test_until_quiet(scene.pool)); // the guard has lain down
  }
  close_scene();
}

static void eight_blocked_workers_on_two_cpus(void)
{
  open_scene(2, WORKERS);
  for (uint32_t round = 0; round < 5; round++)
    all_at_once(WORKERS);
  close_scene();
}

/// Blocked tasks fill all but one worker; what comes later still runs.
static void a_producer_that_sleeps_gets_its_tasks_run(void)
{
  open_scene(0, 4);
  ws_au64_t count = {0};
  for (uint32_t i = 0; i < 3; i++)
    test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 3));
  test_sleep_ms(20);
  for (uint32_t i = 0; i < 100; i++)
    test_push(scene.pool, test_count_task, &count, NULL);
  test_push(scene.pool, test_gate_task, &scene.gate, NULL);
  // started though three stand in the gate, which opens only now
  CU_ASSERT_TRUE(test_gate_await(&scene.gate, 1));
  test_gate_let(&scene.gate, 4);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), 100);
  close_scene();
}

static struct {
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint32_t produced;
} stage = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

static void produce(void *unused)
{
  (void)unused;
  pthread_mutex_lock(&stage.lock);
  stage.produced++;
  pthread_cond_broadcast(&stage.changed);
  pthread_mutex_unlock(&stage.lock);
}

static void consume(void *needed)
{
  pthread_mutex_lock(&stage.lock);
  while (stage.produced < (uintptr_t)needed)
    pthread_cond_wait(&stage.changed, &stage.lock);
  pthread_mutex_unlock(&stage.lock);
}

/// Tasks wait, by a condition variable, for tasks that are pushed to the same pool after them.
static void tasks_wait_for_later_tasks(void)
{
  for (uint32_t cpus = 1; cpus <= 2; cpus++) {
    open_scene(cpus, 6);
    stage.produced = 0;
    ws_group_t group;
    ws_group_init(&group, 8);
    for (uintptr_t i = 0; i < 4; i++)
      test_push(scene.pool, consume, (void *)(4 - i), &group);
    for (uint32_t i = 0; i < 4; i++)
      test_push(scene.pool, produce, NULL, &group);
    ws_group_wait(&group, NULL);
    CU_ASSERT_EQUAL(stage.produced, 4);
    close_scene();
  }
}

/// The guard becomes dormant when no task waits or blocks; then the cap must hold again.
static bool guard_is_down(void *unused)
{
  (void)unused;
  return ws_load_acquire(&scene.pool->guard) == WS_GUARD_DORMANT;
}

static struct {
  ws_au32_t running, over;
} load;

static void use_a_cpu(void *unused)
{
  (void)unused;
  ws_add_acq_rel(&load.running, 1);
  while (!ws_load_acquire(&load.over))
    sched_yield();
}

/// Each awake worker runs a task: no worker searches, or was woken, that could still wake others.
static bool is_settled(void *unused)
{
  (void)unused;
  const uint32_t running = ws_load_acquire(&load.running);
  return running > 0 && ws_searching(scene.pool) == 0 && test_stats(scene.pool).workers_awake == running;
}

/// A task a worker, none of which blocks or ends, one by one, and the guard does not look.
/// @return how many workers are awake then
static uint32_t awake_under_load(bool lifted)
{
  CU_ASSERT_TRUE(test_until(guard_is_down, NULL)); // so it is at no look, which could lower the cap
  ws_store_release(&guard_held, 1);
  CU_ASSERT_EQUAL(ws_load_relaxed(&scene.pool->lifted), 0);
  ws_store_relaxed(&scene.pool->lifted, lifted);
  memset(&load, 0, sizeof(load));
  bool settled = true;
  for (uint32_t i = 0; i < WORKERS; i++) {
    test_push(scene.pool, use_a_cpu, NULL, NULL);
    settled &= test_until(is_settled, NULL);
  }
  const uint32_t awake = settled ? test_stats(scene.pool).workers_awake : UINT32_MAX;
  ws_store_release(&load.over, 1);
  ws_store_release(&guard_held, 0);
  CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
  CU_ASSERT_TRUE(test_until_quiet(scene.pool));
  return awake;
}

/// After tasks that blocked, load that does not block finds the cap in place again.
static void cap_holds_again_after_blocking(void)
{
  open_scene(2, WORKERS);
  all_at_once(WORKERS);
  CU_ASSERT_TRUE(test_until_quiet(scene.pool));
  CU_ASSERT_TRUE(awake_under_load(false) <= scene.cpus);
  CU_ASSERT_EQUAL(awake_under_load(true), WORKERS); // without the cap the same load wakes all
  close_scene();
}

/// Linked with --wrap=sched_getaffinity: a pool can be told that there are eight CPUs.
static ws_au32_t eight_cpus; ///< bool; the guard looks at the CPUs, too

static int sched_getaffinity_seam(pid_t pid, size_t bytes, cpu_set_t *set)
{
  const int result = __real_sched_getaffinity(pid, bytes, set);
  for (size_t cpu = 0; ws_load_relaxed(&eight_cpus) && cpu < 8; cpu++) // relaxed: as below
    CPU_SET_S(cpu, bytes, set);
  return result;
}

/// Threads outside that stand in tasks themselves count as helpers; they must not hold the workers below
/// their
/// number, not even on a machine with a CPU for each worker.
static void blocked_helpers_do_not_starve_the_workers(void)
{
  for (uint32_t large = 0; large <= 1; large++) {
    ws_store_relaxed(&eight_cpus, large); // relaxed: no thread of the pool runs yet
    const uint32_t workers = large ? 4 : 2;
    scene.pool = test_pool(workers);
    ws_store_relaxed(&eight_cpus, 0); // relaxed: the guard may see either
    test_gate_init(&scene.gate);
    CU_ASSERT_TRUE(test_until_quiet(scene.pool));
    const uint32_t helpers = scene.pool->cpus + 2; // as many threads, each in a blocked task that it runs
    ws_add_acq_rel(&scene.pool->helpers, helpers);
    for (uint32_t i = 0; i < workers; i++)
      test_push(scene.pool, test_gate_task, &scene.gate, NULL);
    CU_ASSERT_TRUE(test_gate_await(&scene.gate, workers));
    test_gate_let(&scene.gate, workers);
    ws_sub_acq_rel(&scene.pool->helpers, helpers);
    CU_ASSERT_EQUAL(ws_pool_wait(scene.pool), 0);
    close_scene();
  }
}

static void test_seams(void)
{
  seam.ws_os_futex_wait = ws_os_futex_wait_seam;
  seam.sched_getaffinity = sched_getaffinity_seam;
}

TEST_MAIN_SEAMS(test_seams, "guard", TEST_CASE(eight_blocked_workers_on_one_cpu),
                TEST_CASE(eight_blocked_workers_on_two_cpus),
                TEST_CASE(a_producer_that_sleeps_gets_its_tasks_run), TEST_CASE(tasks_wait_for_later_tasks),
                TEST_CASE(cap_holds_again_after_blocking),
                TEST_CASE(blocked_helpers_do_not_starve_the_workers))
