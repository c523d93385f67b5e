// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_os_online.c
/// ws_os.h: lists of the kernel, and the CPUs of the process.
#include <errno.h>
#include <stdlib.h>

#include "ws_os.h"

/// CPUs of the longest list that is read.
#define CPUS_MAX 8192u

bool ws_os_next_range(char **list, uint32_t *first, uint32_t *last)
{
  char *next = *list;
  if (*next < '0' || *next > '9')
    return false;
  *first = (uint32_t)strtoul(next, &next, 10);
  *last = *next == '-' ? (uint32_t)strtoul(next + 1, &next, 10) : *first;
  *list = next + (*next == ',');
  return *last >= *first;
}

/// The online CPUs; CPU 0 if the kernel does not name them.
static int online_cpus(ws_cpuset_t *set)
{
  char text[4096], *next = text;
  uint32_t first, last;
  *set = (ws_cpuset_t){.bytes = CPUS_MAX / 8, .mask = calloc(1, CPUS_MAX / 8)};
  if (!set->mask)
    return -ENOMEM;
  const bool known = ws_os_read("/sys/devices/system/cpu/online", text, sizeof(text));
  while (known && ws_os_next_range(&next, &first, &last))
    for (uint32_t cpu = first; cpu <= last && cpu < CPUS_MAX; cpu++)
      set->mask[cpu / WS_LONG_BITS] |= 1ul << (cpu % WS_LONG_BITS);
  if (ws_os_cpuset_count(set) == 0)
    set->mask[0] = 1;
  return 0;
}

int ws_os_process_cpus(ws_cpuset_t *set)
{
  const int result = ws_os_thread_cpus(0, set);
  if (result == 0 || result == -ENOMEM)
    return result;
  return online_cpus(set) == 0 ? -result : -ENOMEM;
}
