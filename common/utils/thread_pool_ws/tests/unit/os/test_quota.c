// SPDX-License-Identifier: BSD-3-Clause
/// @file test_quota.c
/// CPU quota of control groups, read from files that the test makes up (--wrap=ws_os_read).

#include "../../support/ws_files.h"

#define CGROUP "/proc/self/cgroup"
#define FS "/sys/fs/cgroup/"
#define QUOTA "cpu.cfs_quota_us"
#define PERIOD "cpu.cfs_period_us"

static uint32_t read_quota(const file_t *fake)
{
  files = fake;
  const uint32_t cpus = ws_os_grants().cpus;
  files = NULL;
  return cpus;
}

TEST_CASE(cpus_of_a_quota)
{
  static const struct {
    uint32_t cpus; ///< UINT32_MAX = as many as there are
    file_t file[5];
  } rows[] = {
      {UINT32_MAX, {{"/nothing", ""}}},
      {UINT32_MAX, {{CGROUP, "0::/\n"}}},
      {UINT32_MAX, {{CGROUP, "0::/a\n"}, {FS "a/cpu.max", "max 100000\n"}}},
      // version 2 rounds up and takes the tightest; the last one is in a container
      {2, {{CGROUP, "0::/a\n"}, {FS "a/cpu.max", "150000 100000\n"}}},
      {1, {{CGROUP, "0::/a\n"}, {FS "a/cpu.max", "1000 100000\n"}}},
      {3,
       {{CGROUP, "0::/a/b/c\n"},
        {FS "a/b/c/cpu.max", "800000 100000\n"},
        {FS "a/b/cpu.max", "max 100000\n"},
        {FS "a/cpu.max", "300000 100000\n"}}},
      {4, {{CGROUP, "0::/\n"}, {FS "cpu.max", "400000 100000\n"}}},
      // version 1; some distributions name the controllers the other way round
      {UINT32_MAX,
       {{CGROUP, "3:cpu,cpuacct:/\n"}, {FS "cpu/" QUOTA, "-1\n"}, {FS "cpu/" PERIOD, "100000\n"}}},
      {3,
       {{CGROUP, "9:memory:/x\n4:cpu,cpuacct:/docker/1\n1:name=systemd:/\n"},
        {FS "cpu/docker/1/" QUOTA, "250000\n"},
        {FS "cpu/docker/1/" PERIOD, "100000\n"}}},
      {1, {{CGROUP, "1:cpu:/\n"}, {FS "cpu/" QUOTA, "50000\n"}, {FS "cpu/" PERIOD, "100000\n"}}},
      {2, {{CGROUP, "4:cpuacct,cpu:/\n"}, {FS "cpu/" QUOTA, "200000\n"}, {FS "cpu/" PERIOD, "100000\n"}}},
      // a container without a cgroup namespace: its mount begins at /a/b
      {1,
       {{CGROUP, "0::/a/b/c\n"},
        {FS "c/cgroup.procs", "1\n"},
        {FS "c/cpu.max", "100000 100000\n"},
        {FS "cpu.max", "300000 100000\n"}}},
      // no link of the short name
      {1,
       {{CGROUP, "4:cpu,cpuacct:/a\n"},
        {FS "cpu,cpuacct/cpu.stat", "nr_periods 0\n"},
        {FS "cpu,cpuacct/a/" QUOTA, "50000\n"},
        {FS "cpu,cpuacct/a/" PERIOD, "100000\n"}}},
      {UINT32_MAX,
       {{CGROUP, "4:cpuset:/\n5:cpuacct:/\n"},
        {FS "cpu/" QUOTA, "200000\n"},
        {FS "cpu/" PERIOD, "100000\n"}}},
  };
  for (uint32_t i = 0; i < TEST_COUNT(rows); i++)
    CU_ASSERT_EQUAL(read_quota(rows[i].file), rows[i].cpus);
}

TEST_CASE(damaged_texts)
{
  static char long_line[9000];
  memset(long_line, 'a', sizeof(long_line) - 1);
  memcpy(long_line, "0::/", 4);
  const char *const text[] = {
      "", "\n", ":", "::", "0:", "0::", "0::a", "0::/a/", "0::///", "x:cpu", "1:cpu:", long_line};
  for (size_t i = 0; i < TEST_COUNT(text); i++)
    CU_ASSERT_EQUAL(read_quota((const file_t[]){{CGROUP, text[i]}, {NULL, NULL}}), UINT32_MAX);
  static const char *const limit[] = {"garbage",
                                      "100000",
                                      "0 0",
                                      "-5 100000",
                                      "100000 -1",
                                      "100000 0",
                                      "9223372036854775807 9223372036854775807"};
  for (size_t i = 0; i < TEST_COUNT(limit); i++) {
    const file_t fake[] = {{CGROUP, "0::/a\n"}, {FS "a/cpu.max", limit[i]}, {NULL, NULL}};
    CU_ASSERT_TRUE(read_quota(fake) == (i + 1 < TEST_COUNT(limit) ? UINT32_MAX : 1));
  }
}

TEST_CASE(how_often_it_was_used_up)
{
  static const file_t fake[] = {{CGROUP, "4:cpu,cpuacct:/a\n0::/b\n"},
                                {FS "cpu/a/cpu.stat", "nr_periods 9\nnr_throttled 5\n"},
                                {FS "cpu/cpu.stat", "nr_periods 0\nnr_throttled 0\n"},
                                {FS "b/cpu.stat", "usage_usec 3\nnr_throttled 2\n"},
                                {FS "cpu.stat", "usage_usec 3\n"},
                                {NULL, NULL}};
  static const file_t only_cgroup[] = {{CGROUP, "4:cpu,cpuacct:/a\n0::/b\n"}, {NULL, NULL}};
  files = fake;
  CU_ASSERT_EQUAL(ws_os_grants().throttled, 7);
  files = only_cgroup;
  CU_ASSERT_EQUAL(ws_os_grants().throttled, 0);
  files = NULL;
}

TEST_MAIN_SEAMS("quota", SEAM(ws_os_read))
