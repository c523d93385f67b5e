// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_quota.c
/// How many CPUs' worth of time the control groups of this process grant (cgroup v2 cpu.max, v1
/// cpu.cfs_quota_us), and how often that was used up (cpu.stat).
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ws_os.h"

#define PATH_BYTES 4096

/// Room for /proc/self/cgroup: a line for each of a dozen hierarchies. And for cpu.stat.
#define TEXT_BYTES 16384

static uint32_t cpus_of(long long quota_us, long long period_us)
{
  if (quota_us <= 0 || period_us <= 0)
    return UINT32_MAX;
  const long long cpus = quota_us / period_us + (quota_us % period_us != 0);
  return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

/// The groups' grants, and how often they were used up.
typedef struct {
  uint32_t cpus; ///< of the tightest group
  uint64_t throttled; ///< periods in which a quota was used up, summed
} grants_t;

static uint32_t quota_v2(const char *directory)
{
  char path[PATH_BYTES], line[128];
  long long quota_us = 0, period_us = 0;
  snprintf(path, sizeof(path), "%s/cpu.max", directory);
  if (!ws_os_read(path, line, sizeof(line)) || sscanf(line, "%lld %lld", &quota_us, &period_us) != 2)
    return UINT32_MAX; // no such file, or "max"
  return cpus_of(quota_us, period_us);
}

static uint32_t quota_v1(const char *directory)
{
  char path[PATH_BYTES], quota[64], period[64];
  snprintf(path, sizeof(path), "%s/cpu.cfs_quota_us", directory);
  if (!ws_os_read(path, quota, sizeof(quota)))
    return UINT32_MAX;
  snprintf(path, sizeof(path), "%s/cpu.cfs_period_us", directory);
  if (!ws_os_read(path, period, sizeof(period)))
    return UINT32_MAX;
  return cpus_of(atoll(quota), atoll(period));
}

static uint64_t throttled(const char *directory)
{
  char path[PATH_BYTES], text[1024];
  snprintf(path, sizeof(path), "%s/cpu.stat", directory);
  if (!ws_os_read(path, text, sizeof(text)))
    return 0;
  const char *line = strstr(text, "nr_throttled ");
  return line ? strtoull(line + strlen("nr_throttled "), NULL, 10) : 0;
}

/// Add the numbers of one group.
static void look_at(const char *root, const char *group, uint32_t (*quota)(const char *), grants_t *grants)
{
  char directory[PATH_BYTES - 64];
  snprintf(directory, sizeof(directory), "%s%.3000s", root, group);
  const uint32_t cpus = quota(directory);
  grants->cpus = cpus < grants->cpus ? cpus : grants->cpus;
  grants->throttled += throttled(directory);
}

/// @p group and every group above it.
static void look_up(const char *root, char *group, uint32_t (*quota)(const char *), grants_t *grants)
{
  look_at(root, "", quota, grants);
  while (*group == '/' && group[1]) {
    look_at(root, group, quota, grants);
    *strrchr(group, '/') = '\0';
  }
}

/// @return whether a list like "cpuacct,cpu" has cpu in it
static bool names_cpu(const char *controllers)
{
  while (strncmp(controllers, "cpu", 3) != 0 || (controllers[3] != '\0' && controllers[3] != ',')) {
    controllers = strchr(controllers, ',');
    if (!controllers)
      return false;
    controllers++;
  }
  return true;
}

static grants_t read_grants(void)
{
  grants_t grants = {.cpus = UINT32_MAX};
  char text[TEXT_BYTES];
  if (!ws_os_read("/proc/self/cgroup", text, sizeof(text)))
    return grants;
  char *rest = NULL;
  for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
    char *controllers = strchr(line, ':'); // "<id>:<controllers>:<path>"
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = '\0';
    controllers++;
    if (!*controllers)
      look_up("/sys/fs/cgroup", group, quota_v2, &grants);
    else if (names_cpu(controllers))
      look_up("/sys/fs/cgroup/cpu", group, quota_v1, &grants);
  }
  return grants;
}

uint32_t ws_os_quota_cpus(void)
{
  return read_grants().cpus;
}

uint64_t ws_os_throttled(void)
{
  return read_grants().throttled;
}
