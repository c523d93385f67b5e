// SPDX-License-Identifier: BSD-3-Clause
/// @file test_quota.c
/// CPU quota of control groups, read from files that the test makes up (--wrap=ws_os_read).
#include <stdio.h>
#include <string.h>

#include "../../support/ws_test.h"

typedef struct {
  const char *path, *text;
} file_t;

static const file_t *files;
static size_t file_count;

bool __real_ws_os_read(const char *path, char *text, size_t bytes);
bool __wrap_ws_os_read(const char *path, char *text, size_t bytes);

bool __wrap_ws_os_read(const char *path, char *text, size_t bytes)
{
  if (!files)
    return __real_ws_os_read(path, text, bytes);
  for (size_t i = 0; i < file_count; i++)
    if (strcmp(files[i].path, path) == 0)
      return snprintf(text, bytes, "%s", files[i].text) > 0;
  return false;
}

static uint32_t read_quota(const file_t *fake, size_t count)
{
  files = fake;
  file_count = count;
  const uint32_t cpus = ws_os_quota_cpus();
  files = NULL;
  return cpus;
}

#define QUOTA(...)                                                                                           \
  read_quota((const file_t[]){__VA_ARGS__}, sizeof((const file_t[]){__VA_ARGS__}) / sizeof(file_t))

static void unlimited(void)
{
  CU_ASSERT_EQUAL(QUOTA({"/nothing", ""}), UINT32_MAX);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "0::/\n"}), UINT32_MAX);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}),
                  UINT32_MAX);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "3:cpu,cpuacct:/\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}),
                  UINT32_MAX);
}

static void version_2_rounds_up_and_takes_the_tightest(void)
{
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}),
                  2);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "1000 100000\n"}), 1);
  CU_ASSERT_EQUAL(
      QUOTA({"/proc/self/cgroup", "0::/a/b/c\n"}, {"/sys/fs/cgroup/a/b/c/cpu.max", "800000 100000\n"},
            {"/sys/fs/cgroup/a/b/cpu.max", "max 100000\n"}, {"/sys/fs/cgroup/a/cpu.max", "300000 100000\n"}),
      3);
  // in a container
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "400000 100000\n"}), 4);
}

static void version_1(void)
{
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "9:memory:/x\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/\n"},
                        {"/sys/fs/cgroup/cpu/docker/1/cpu.cfs_quota_us", "250000\n"},
                        {"/sys/fs/cgroup/cpu/docker/1/cpu.cfs_period_us", "100000\n"}),
                  3);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "1:cpu:/\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}),
                  1);
}

/// Some distributions name the controllers the other way round.
static void version_1_with_the_controllers_in_another_order(void)
{
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "4:cpuacct,cpu:/\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}),
                  2);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "4:cpuset:/\n5:cpuacct:/\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"},
                        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}),
                  UINT32_MAX);
}

static void damaged_texts(void)
{
  static const char *const text[] = {
      "", "\n", ":", "::", "0:", "0::", "0::a", "0::/a/", "0::///", "x:cpu", "1:cpu:"};
  for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++)
    CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", text[i]}), UINT32_MAX);
  static const char *const limit[] = {"garbage", "100000", "0 0", "-5 100000", "100000 -1", "100000 0"};
  for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++)
    CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", limit[i]}),
                    UINT32_MAX);
  CU_ASSERT_TRUE(QUOTA({"/proc/self/cgroup", "0::/a\n"},
                       {"/sys/fs/cgroup/a/cpu.max", "9223372036854775807 9223372036854775807"})
                 >= 1);
  static char long_line[9000];
  memset(long_line, 'a', sizeof(long_line) - 1);
  memcpy(long_line, "0::/", 4);
  CU_ASSERT_EQUAL(QUOTA({"/proc/self/cgroup", long_line}), UINT32_MAX);
}

static void how_often_it_was_used_up(void)
{
  static const file_t fake[] = {{"/proc/self/cgroup", "4:cpu,cpuacct:/a\n0::/b\n"},
                                {"/sys/fs/cgroup/cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 5\n"},
                                {"/sys/fs/cgroup/cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\n"},
                                {"/sys/fs/cgroup/b/cpu.stat", "usage_usec 3\nnr_throttled 2\n"},
                                {"/sys/fs/cgroup/cpu.stat", "usage_usec 3\n"}};
  files = fake;
  file_count = sizeof(fake) / sizeof(fake[0]);
  CU_ASSERT_EQUAL(ws_os_throttled(), 7);
  file_count = 1;
  CU_ASSERT_EQUAL(ws_os_throttled(), 0);
  files = NULL;
}

TEST_MAIN("quota", TEST_CASE(unlimited), TEST_CASE(version_2_rounds_up_and_takes_the_tightest),
          TEST_CASE(version_1), TEST_CASE(version_1_with_the_controllers_in_another_order),
          TEST_CASE(damaged_texts), TEST_CASE(how_often_it_was_used_up))
