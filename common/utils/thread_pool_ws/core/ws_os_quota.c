// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_quota.c
/// How many CPUs' worth of time the control groups of this process grant (cgroup v2 cpu.max, v1
/// cpu.cfs_quota_us).
#define _GNU_SOURCE
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ws_os.h"

#define PATH_BYTES 4096

static bool read_line(const char *path, char *line, size_t bytes)
{
  FILE *file = fopen(path, "re");
  if (!file)
    return false;
  const bool ok = fgets(line, (int)bytes, file) != NULL;
  fclose(file);
  return ok;
}

static uint32_t cpus_of(long long quota_us, long long period_us)
{
  if (quota_us <= 0 || period_us <= 0)
    return UINT32_MAX;
  const long long cpus = quota_us / period_us + (quota_us % period_us != 0);
  return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

static uint32_t quota_v2(const char *group)
{
  char path[PATH_BYTES], line[128];
  long long quota_us = 0, period_us = 0;
  snprintf(path, sizeof(path), "/sys/fs/cgroup%.3000s/cpu.max", group);
  if (!read_line(path, line, sizeof(line)) || sscanf(line, "%lld %lld", &quota_us, &period_us) != 2)
    return UINT32_MAX; // no such file, or "max"
  return cpus_of(quota_us, period_us);
}

static uint32_t quota_v1(const char *group)
{
  char path[PATH_BYTES], quota[64], period[64];
  snprintf(path, sizeof(path), "/sys/fs/cgroup/cpu%.3000s/cpu.cfs_quota_us", group);
  if (!read_line(path, quota, sizeof(quota)))
    return UINT32_MAX;
  snprintf(path, sizeof(path), "/sys/fs/cgroup/cpu%.3000s/cpu.cfs_period_us", group);
  if (!read_line(path, period, sizeof(period)))
    return UINT32_MAX;
  return cpus_of(atoll(quota), atoll(period));
}

/// The tightest limit of @p group and of every group above it.
static uint32_t quota_of_path(char *group, uint32_t (*quota)(const char *))
{
  uint32_t cpus = quota("");
  while (*group == '/' && group[1]) {
    const uint32_t here = quota(group);
    cpus = here < cpus ? here : cpus;
    *strrchr(group, '/') = '\0';
  }
  return cpus;
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

uint32_t ws_os_quota_cpus(void)
{
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file)
    return UINT32_MAX;
  uint32_t cpus = UINT32_MAX;
  char line[PATH_BYTES];
  while (fgets(line, sizeof(line), file)) { // "<id>:<controllers>:<path>"
    line[strcspn(line, "\n")] = '\0';
    char *controllers = strchr(line, ':');
    char *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
      continue;
    *group++ = '\0';
    controllers++;
    uint32_t here = UINT32_MAX;
    if (!*controllers)
      here = quota_of_path(group, quota_v2);
    else if (names_cpu(controllers))
      here = quota_of_path(group, quota_v1);
    cpus = here < cpus ? here : cpus;
  }
  fclose(file);
  return cpus;
}
