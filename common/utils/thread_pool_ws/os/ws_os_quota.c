// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_quota.c
/// How many CPUs' worth of time the control groups of this process grant (cgroup v2 cpu.max, v1
/// cpu.cfs_quota_us), and how often that was used up (cpu.stat).
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ws_os.h"

#define PATH_BYTES 4096

/// Room for /proc/self/cgroup: a line for each of a dozen hierarchies. And for cpu.stat.
#define TEXT_BYTES 16384

/// The groups' grants, and how often they were used up.
typedef struct {
  uint32_t cpus; ///< of the tightest group
  uint64_t throttled; ///< periods in which a quota was used up, summed
} grants_t;

/// Read the file @p name of a group.
static bool read_of(const char *directory, const char *name, char *text, size_t bytes)
{
  char path[PATH_BYTES];
  snprintf(path, sizeof(path), "%s/%s", directory, name);
  return ws_os_read(path, text, bytes);
}

/// @return CPUs' worth of time that one group grants; UINT32_MAX = it has no limit
static uint32_t quota_of(const char *directory, bool is_v2)
{
  char text[128];
  long long quota_us = 0, period_us = 0;
  if (is_v2 && read_of(directory, "cpu.max", text, sizeof(text))) {
    if (sscanf(text, "%lld %lld", &quota_us, &period_us) != 2)
      return UINT32_MAX; // "max"
  } else if (!is_v2 && read_of(directory, "cpu.cfs_quota_us", text, sizeof(text))) {
    quota_us = atoll(text);
    period_us = read_of(directory, "cpu.cfs_period_us", text, sizeof(text)) ? atoll(text) : 0;
  }
  if (quota_us <= 0 || period_us <= 0)
    return UINT32_MAX;
  const long long cpus = quota_us / period_us + (quota_us % period_us != 0);
  return cpus < UINT32_MAX ? (uint32_t)cpus : UINT32_MAX;
}

static uint64_t throttled_in(const char *directory)
{
  char text[1024];
  const char *line =
      read_of(directory, "cpu.stat", text, sizeof(text)) ? strstr(text, "nr_throttled ") : NULL;
  return line ? strtoull(line + strlen("nr_throttled "), NULL, 10) : 0;
}

/// Add the numbers of @p group and of every group above it.
static void look_up(const char *root, char *group, bool is_v2, grants_t *grants)
{
  bool is_root;
  do {
    char directory[PATH_BYTES - 64];
    is_root = *group != '/' || !group[1];
    snprintf(directory, sizeof(directory), "%s%.3000s", root, is_root ? "" : group);
    const uint32_t cpus = quota_of(directory, is_v2);
    grants->cpus = cpus < grants->cpus ? cpus : grants->cpus;
    grants->throttled += throttled_in(directory);
    if (!is_root)
      *strrchr(group, '/') = '\0';
  } while (!is_root);
}

/// @return whether a list like "cpuacct,cpu" has cpu in it
static bool names_cpu(const char *list)
{
  for (const char *at = list; (at = strstr(at, "cpu")); at += 3)
    if ((at == list || at[-1] == ',') && (at[3] == ',' || at[3] == '\0'))
      return true;
  return false;
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
      look_up("/sys/fs/cgroup", group, true, &grants);
    else if (names_cpu(controllers))
      look_up("/sys/fs/cgroup/cpu", group, false, &grants);
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
