// SPDX-License-Identifier: BSD-3-Clause
/// @file test_topo.c
/// Where workers are pinned, how many CPUs count, in which order a worker steals; machines with over 1024
/// CPUs.
#define _GNU_SOURCE
#include "../../../setup/ws_topo.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "../../support/ws_test.h"

/// Linked with --wrap=sched_getaffinity: a kernel with room for 4096 CPUs, of which the process may use this
/// one too.
int __real_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
static int32_t far_cpu = -1;
static int refused; ///< the error number of a seccomp filter; 0 = there is none

int __wrap_sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
  if (refused) {
    errno = refused;
    return -1;
  }
  if (far_cpu < 0)
    return __real_sched_getaffinity(pid, bytes, set);
  if (bytes < 4096 / 8) {
    errno = EINVAL;
    return -1;
  }
  memset(set, 0, bytes);
  CPU_SET_S(0, bytes, set);
  CPU_SET_S((size_t)far_cpu, bytes, set);
  return 0;
}

/// Linked with --wrap=ws_os_read: the kernel's list of online CPUs.
bool __real_ws_os_read(const char *path, char *text, size_t bytes);
bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);
static const char *online; ///< NULL = there is none

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  if (!strstr(path, "cpu/online"))
    return __real_ws_os_read(path, text, bytes);
  if (!online)
    return false;
  strncpy(text, online, bytes - 1);
  text[bytes - 1] = '\0';
  return true;
}

/// Linked with --wrap=ws_os_quota_cpus.
uint32_t __real_ws_os_quota_cpus(void);
uint32_t __wrap_ws_os_quota_cpus(void);
static uint32_t quota = UINT32_MAX;

uint32_t __wrap_ws_os_quota_cpus(void)
{
  return quota;
}

static ws_cpuset_t set_of(const uint32_t *cpu, uint32_t count)
{
  ws_cpuset_t set = {.bytes = 256, .mask = calloc(1, 256)};
  for (uint32_t i = 0; i < count; i++)
    set.mask[cpu[i] / 64] |= 1ul << (cpu[i] % 64);
  return set;
}

static void cpu_sets_of_any_size(void)
{
  static const uint32_t cpu[] = {0, 63, 64, 1500};
  ws_cpuset_t set = set_of(cpu, 4);
  CU_ASSERT_EQUAL(ws_os_cpuset_count(&set), 4);
  for (uint32_t i = 0; i < 4; i++)
    CU_ASSERT_TRUE(ws_os_cpuset_has(&set, cpu[i]));
  CU_ASSERT_FALSE(ws_os_cpuset_has(&set, 1));
  CU_ASSERT_FALSE(ws_os_cpuset_has(&set, 2047));
  CU_ASSERT_FALSE(ws_os_cpuset_has(&set, 2048));
  CU_ASSERT_FALSE(ws_os_cpuset_has(&set, UINT32_MAX));
  ws_os_cpuset_free(&set);
  CU_ASSERT_PTR_NULL(set.mask);
}

/// Whatever the step, no CPU is used twice before all have been used once, and the second one is a step
/// further.
static void each_step_uses_every_cpu(void)
{
  static const uint32_t cpu[] = {2, 3, 5, 7, 11, 13, 17, 19};
  for (uint32_t count = 1; count <= 8; count++) {
    for (uint32_t step = 1; step <= 9; step++) {
      ws_cpuset_t mask = set_of(cpu, count);
      ws_settings_t settings = test_settings(2 * count);
      settings.pin_step = step;
      int32_t plan[16];
      uint32_t used[20] = {0};
      ws_topo_plan(&settings, &mask, plan);
      for (uint32_t i = 0; i < count; i++)
        used[plan[i] >= 0 && plan[i] < 20 ? plan[i] : 0]++;
      uint32_t once = 0;
      for (uint32_t i = 0; i < count; i++)
        once += used[cpu[i]] == 1;
      CU_ASSERT_EQUAL(once, count);
      CU_ASSERT_EQUAL(plan[0], (int32_t)cpu[0]);
      if (count > step)
        CU_ASSERT_EQUAL(plan[1], (int32_t)cpu[step]);
      ws_os_cpuset_free(&mask);
    }
  }
}

static void cpus_that_count(void)
{
  static const uint32_t cpu[] = {0, 1, 2, 3};
  static const int32_t inside[] = {0, -1, 3}, outside[] = {9, 9, 1500, 0};
  ws_cpuset_t mask = set_of(cpu, 4);
  CU_ASSERT_EQUAL(ws_topo_cpus(&mask, inside, 3), 4);
  CU_ASSERT_EQUAL(ws_topo_cpus(&mask, outside, 4), 6);
  quota = 3;
  CU_ASSERT_EQUAL(ws_topo_cpus(&mask, outside, 4), 3);
  quota = 1;
  ws_pool_t *pool = test_pool(2);
  CU_ASSERT_EQUAL(test_stats(pool).cpus, 1);
  test_destroy(pool);
  quota = UINT32_MAX;
  ws_cpuset_t none = set_of(cpu, 0);
  CU_ASSERT_EQUAL(ws_topo_cpus(&none, inside, 0), 1);
  ws_os_cpuset_free(&mask);
  ws_os_cpuset_free(&none);
}

/// CPUs 0 to 3 have two last-level caches, of the even CPUs and of the odd ones. CPU 5 is not in the mask, so
/// its cache is not known.
static void victims_of_the_same_cache_come_first(void)
{
  enum { WORKERS = 7 };
  static const uint32_t cpu[] = {0, 1, 2, 3};
  static const int32_t pinned_to[WORKERS] = {0, 1, 2, -1, 3, 5, 0};
  static const uint32_t expected[WORKERS][WORKERS - 1] = {
      {2, 6, 1, 3, 4, 5}, {4, 2, 3, 5, 6, 0}, {6, 0, 3, 4, 5, 1}, {4, 5, 6, 0, 1, 2},
      {1, 5, 6, 0, 2, 3}, {6, 0, 1, 2, 3, 4}, {0, 2, 1, 3, 4, 5},
  };
  static struct ws_pool_s pool;
  static ws_worker_t workers[WORKERS], *worker_of[WORKERS];
  uint32_t victims[WORKERS][WORKERS - 1];
  pool.mask = set_of(cpu, 4);
  pool.worker = worker_of;
  pool.workers = WORKERS;
  pool.caches = 2;
  for (uint32_t i = 0; i < 4; i++)
    pool.cache_of[i] = i % 2;
  for (uint32_t i = 0; i < WORKERS; i++) {
    workers[i].cpu = pinned_to[i];
    workers[i].victims = victims[i];
    worker_of[i] = &workers[i];
  }
  ws_topo_victims(&pool);
  CU_ASSERT_EQUAL(memcmp(victims, expected, sizeof(expected)), 0);
  pool.caches = 0; // not known: in turn from the own number on
  ws_topo_victims(&pool);
  for (uint32_t i = 0; i < WORKERS; i++)
    for (uint32_t k = 0; k < WORKERS - 1; k++)
      CU_ASSERT_EQUAL(victims[i][k], (i + 1 + k) % WORKERS);
  ws_os_cpuset_free(&pool.mask);
}

static void run_some(ws_pool_t *pool)
{
  ws_au64_t count = {0};
  for (uint32_t i = 0; i < 100; i++)
    test_push(pool, test_count_task, &count, NULL);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
  CU_ASSERT_EQUAL(test_value(&count), 100);
}

static void machine_with_over_1024_cpus(void)
{
  far_cpu = 1500;
  ws_settings_t settings = test_settings(2);
  ws_settings_t defaults;
  ws_settings_default(&defaults);
  CU_ASSERT_EQUAL(defaults.workers, 2);
  settings.pin_step = 1; // the second worker is asked to run on CPU 1500, which does not exist here
  ws_pool_t *pool = test_create(&settings);
  CU_ASSERT_EQUAL(test_stats(pool).cpus, 2);
  CU_ASSERT_TRUE(ws_os_cpuset_has(&pool->mask, 1500));
  CU_ASSERT_EQUAL(test_warnings_with("CPU 1500"), 1);
  run_some(pool);
  test_destroy(pool);
  far_cpu = -1;
}

/// The kernel refuses to name the process's CPUs: a pool works with the online ones, and says so once.
static void cpus_that_are_refused(void)
{
  static const struct {
    int error;
    const char *list;
    uint32_t count;
  } cases[] = {{EPERM, "0-2,70\n", 4}, {ENOSYS, "0\n", 1}, {EPERM, "\n", 1}, {EPERM, NULL, 1}};
  for (uint32_t i = 0; i < TEST_COUNT(cases); i++) {
    ws_settings_t settings = test_settings(3);
    refused = cases[i].error;
    online = cases[i].list;
    settings.pin_step = 1;
    ws_pool_t *pool = test_create(&settings);
    CU_ASSERT_EQUAL(test_warnings.count, 1);
    CU_ASSERT_EQUAL(test_warnings_with(strerror(cases[i].error)), 1);
    CU_ASSERT_EQUAL(pool->cpus, cases[i].count);
    CU_ASSERT_EQUAL(test_stats(pool).workers, 3);
    CU_ASSERT_EQUAL(test_stats(pool).workers_pinned, 0);
    run_some(pool);
    test_destroy(pool);
    ws_settings_default(&settings);
    CU_ASSERT_EQUAL(settings.workers, cases[i].count);
    refused = 0;
  }
}

TEST_MAIN("topo", TEST_CASE(cpu_sets_of_any_size), TEST_CASE(each_step_uses_every_cpu),
          TEST_CASE(cpus_that_count), TEST_CASE(victims_of_the_same_cache_come_first),
          TEST_CASE(machine_with_over_1024_cpus), TEST_CASE(cpus_that_are_refused))
