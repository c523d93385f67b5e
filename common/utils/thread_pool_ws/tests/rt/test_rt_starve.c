// SPDX-License-Identifier: BSD-3-Clause
/// @file test_rt_starve.c
/// A real-time thread that busy-polls on the CPU of one worker must not keep bursts waiting: the other worker
/// runs them. Bursts come until the guard has stopped relying on the worker without a CPU. scenes/awake.c has
/// the cases that need no real CPU.
#define _GNU_SOURCE
#include <sched.h>

#include "../support/ws_test.h"

#define PRIORITY 50
#define BURSTS_MAX 5000u

typedef struct {
  uint32_t cpu;
  ws_au32_t state; ///< 0 = not there yet, 1 = it has the CPU, 2 = it may not be real-time
  ws_au32_t over;
} hog_t;

static void *take_cpu(void *hog_arg)
{
  hog_t *hog = hog_arg;
  const struct sched_param param = {.sched_priority = PRIORITY};
  const bool pinned = ws_os_pin(0, hog->cpu) == 0;
  const bool taken = pinned && pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) == 0;
  ws_store_release(&hog->state, taken ? 1 : 2);
  while (taken && !ws_hint_load(&hog->over))
    ;
  return NULL;
}

static bool is_there(void *hog)
{
  return ws_load_acquire(&((hog_t *)hog)->state) != 0;
}

/// Two workers, each on its CPU, and this thread on the second's. @return false when there is one CPU only
static ws_pool_t *create(uint32_t cpu[2])
{
  ws_cpuset_t set = {0};
  uint32_t found = 0;
  if (ws_os_process_cpus(&set) < 0)
    return NULL;
  for (uint32_t i = 0; i < set.bytes * 8 && found < 2; i++)
    if (ws_os_cpuset_has(&set, i))
      cpu[found++] = i;
  ws_os_cpuset_free(&set);
  if (found < 2)
    return NULL;
  ws_settings_t settings = test_settings(2);
  const int32_t cores[2] = {(int32_t)cpu[0], (int32_t)cpu[1]};
  settings.cores = cores;
  settings.core_count = 2;
  settings.spin = WS_SPIN_OFF;
  ws_pool_t *pool = test_create(&settings);
  ws_os_pin(0, cpu[1]);
  return pool;
}

static void bursts_do_not_wait_for_a_worker_without_a_cpu(void)
{
  hog_t hog = {0};
  test_threads_t threads = {0};
  uint32_t cpu[2];
  ws_pool_t *pool = create(cpu);
  if (pool) {
    hog.cpu = cpu[0];
    test_spawn(&threads, take_cpu, &hog);
    CU_ASSERT_TRUE(test_until(is_there, &hog));
  }
  if (!pool || ws_load_acquire(&hog.state) == 2)
    printf("(skipped: one CPU, or no real-time priority) ");
  else
    for (uint32_t burst = 0; burst < BURSTS_MAX && test_stats(pool).starved_searches == 0; burst++) {
      ws_group_t group;
      ws_group_init(&group, 4);
      for (uint32_t i = 0; i < 4; i++)
        test_push(pool, test_empty_task, NULL, &group);
      ws_group_wait(&group, NULL); // it does not help
      test_sleep_ms(1);
    }
  CU_ASSERT_TRUE(!pool || ws_load_acquire(&hog.state) == 2 || test_stats(pool).starved_searches > 0);
  ws_hint_store(&hog.over, 1);
  test_join(&threads);
  if (pool)
    test_destroy(pool);
  test_use_cpus(0);
}

TEST_MAIN("rt_starve", TEST_ALONE(bursts_do_not_wait_for_a_worker_without_a_cpu))
