// SPDX-License-Identifier: BSD-3-Clause
/// @file cgroup.c
/// A pool in a control group of version 2, whose limits are set before the pool starts and while it runs.
///
/// ci/lab cgroup runs it in a virtual machine with 8 CPUs, also in a container. Elsewhere it is skipped.
/// WS_LAB_GROUP: folder of the group, which the test may write
/// WS_LAB_SMALL: /dev/shm has no room for a page
/// WS_LAB_VIEWERS: other programs change the pool (container.py)
#include <dirent.h>

#include "../../sleep/ws_budget.h"
#include "../../sleep/ws_cap.h"
#include "../support/ws_test.h"

#define WORKERS 8u

static ws_pool_t *pool;

static char *path_of(const char *name)
{
  static char path[256];
  snprintf(path, sizeof(path), "%s/%s", getenv("WS_LAB_GROUP"), name);
  return path;
}

static void set_limit(const char *name, const char *value)
{
  FILE *file = fopen(path_of(name), "w");
  CU_ASSERT_TRUE_FATAL(file && fputs(value, file) >= 0 && fclose(file) == 0);
}

static void burst(void)
{
  test_burst(pool, 2 * WORKERS, test_empty_task, NULL);
}

/// @return whether each thread of this process may use exactly these CPUs
static bool are_there(void *cpus)
{
  bool there = true;
  DIR *folder = opendir("/proc/self/task");
  for (const struct dirent *entry; (entry = readdir(folder));) {
    ws_cpuset_t found;
    const bool is_one = entry->d_name[0] != '.' && ws_os_thread_cpus(atoi(entry->d_name), &found) == 0;
    there &= !is_one || memcmp(&found, cpus, sizeof(found)) == 0;
  }
  closedir(folder);
  return there;
}

/// Each worker runs a task at the same time. @param cpus  that all threads may use then; NULL = any
static void use_all_workers(ws_cpuset_t *cpus)
{
  TEST_GATE(gate);
  test_hold(pool, &gate, WORKERS);
  CU_ASSERT_TRUE(!cpus || test_until(are_there, cpus));
  test_gate_let(&gate, WORKERS);
  CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
}

static bool counts(void *spin_cpus)
{
  burst();
  return ws_hint_load(&ws_sleep_pool(pool)->spin_cpus) == *(const uint32_t *)spin_cpus;
}

TEST_CASE(a_cpuset_shrinks_and_grows)
{
  static const char *const list[] = {"2-3", "5", "0-7", "1,4-6", "0-7"};
  for (uint32_t realtime = 0; realtime < 2; realtime++) {
    ws_settings_t settings = test_settings(WORKERS);
    settings.sched_class = realtime ? WS_CLASS_RR : WS_CLASS_INHERIT; // a container may have no right to it
    settings.sched_priority = 1;
    pool = test_create(&settings);
    for (uint32_t i = 0; i < TEST_COUNT(list); i++) {
      ws_cpuset_t cpus;
      set_limit("cpuset.cpus", list[i]);
      CU_ASSERT_TRUE(ws_os_read_list(path_of("cpuset.cpus.effective"), &cpus));
      CU_ASSERT_TRUE_FATAL(test_until(counts, &(uint32_t){ws_os_cpuset_count(&cpus)}));
      use_all_workers(&cpus);
    }
    test_destroy(pool);
  }
}

static void check_quota(const char *quota, uint32_t spin_cpus)
{
  set_limit("cpu.max", quota);
  CU_ASSERT_TRUE(test_until(counts, &spin_cpus));
  use_all_workers(NULL);
}

TEST_CASE(a_quota_after_the_start)
{
  pool = test_pool(WORKERS);
  check_quota("250000 100000", 3);
  check_quota("90000 100000", 1);
  check_quota("max 100000", 8);
  test_destroy(pool);
}

/// A pool counts its CPUs when it is created.
TEST_CASE(a_quota_before_the_start)
{
  set_limit("cpu.max", "200000 100000");
  pool = test_pool(WORKERS);
  CU_ASSERT_EQUAL(test_stats(pool).cpus, 2);
  CU_ASSERT_EQUAL(ws_spin_limit(pool), 1);
  check_quota("90000 100000", 1);
  check_quota("max 100000", 2);
  test_destroy(pool);
}

static bool is_throttled(void *unused)
{
  ws_prewake_stats_t stats;
  burst();
  ws_pool_prewake_stats(pool, &stats);
  return stats.throttled_looks > 0 && stats.level < 2;
}

TEST_CASE(a_quota_that_is_used_up)
{
  set_limit("cpu.max", "5000 100000");
  pool = test_pool(WORKERS);
  CU_ASSERT_TRUE(test_until(is_throttled, NULL));
  test_destroy(pool);
  set_limit("cpu.max", "max 100000");
}

static bool has_all_workers(void *unused)
{
  return test_stats(pool).workers == WORKERS;
}

/// The limit of threads has room for the main thread, or also the watchdog thread, or four workers, too.
TEST_CASE(threads_are_refused_until_there_is_room)
{
  static const char *const limit[] = {"1", "2", "6"};
  for (uint32_t i = 0; i < TEST_COUNT(limit); i++) {
    ws_au64_t count = {0};
    set_limit("pids.max", limit[i]);
    pool = test_pool(WORKERS);
    CU_ASSERT_EQUAL(test_warnings_with("pids.max"), 1);
    CU_ASSERT_EQUAL(test_stats(pool).workers, i < 2 ? 0 : 4);
    for (uint32_t tasks = 0; tasks < WORKERS; tasks++)
      test_push(pool, test_count_task, &count, NULL);
    CU_ASSERT_EQUAL(ws_pool_wait(pool), 0);
    CU_ASSERT_EQUAL(test_value(&count), WORKERS);
    set_limit("pids.max", "max");
    if (i > 0) { // else it has no watchdog thread, which makes the others
      CU_ASSERT_TRUE(test_until(has_all_workers, NULL));
      use_all_workers(NULL);
    }
    test_destroy(pool);
  }
}

/// The limit holds for the page and the record, too, which lie in memory.
TEST_CASE(it_goes_on_with_little_memory)
{
  ws_settings_t settings = test_settings(WORKERS);
  settings.live = true;
  settings.deadline_ns = 1000; // all bursts are late
  strcpy(settings.record, "/dev/shm");
  set_limit("memory.max", "16M");
  pool = test_create(&settings);
  for (uint32_t i = 0; i < 2000; i++)
    burst();
  CU_ASSERT_EQUAL(test_warnings_with("live=1"), getenv("WS_LAB_SMALL") ? 1 : 0);
  use_all_workers(NULL);
  test_destroy(pool);
  set_limit("memory.max", "max");
}

static bool is_changed(void *unused)
{
  burst();
  return ws_spin_mode(pool) == WS_SPIN_OFF && ws_spin_percent(pool) == 33 && ws_awake_cap(pool) == 4;
}

TEST_CASE(others_change_it)
{
  TEST_SKIP_IF(!getenv("WS_LAB_VIEWERS"), "there are none");
  ws_settings_t settings = test_settings(WORKERS);
  settings.live = true;
  pool = test_create(&settings);
  CU_ASSERT_TRUE(test_until(is_changed, NULL));
  CU_ASSERT_EQUAL(getchar(), EOF);
  test_destroy(pool);
}

int main(int count, char **words)
{
  if (getenv("WS_LAB_GROUP"))
    return test_run(count - 1, words + 1);
  printf("skipped: WS_LAB_GROUP names no control group; ci/lab cgroup has one\n");
  return 77;
}

TEST_MAIN("lab cgroup")
