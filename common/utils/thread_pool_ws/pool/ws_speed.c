// SPDX-License-Identifier: BSD-3-Clause
/// @file ws_speed.c
/// ws_speed.h: from Linux's sysfs.
#include "ws_speed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// A CPU is slow below this share of the fastest one's speed. CPUs of one kind differ by less, because the
/// best ones of a chip may run at a higher frequency.
#define SLOW_PERCENT 80u

/// Speeds in units of their own, in a CPU's folder.
enum { CAPACITY, FREQUENCY, PERFORMANCE, SOURCES };
static const char *const sources[SOURCES] = {"cpu_capacity", "cpufreq/cpuinfo_max_freq",
                                             "acpi_cppc/highest_perf"};

/// @return 0 = unknown
static uint64_t speed_of(uint32_t source, uint32_t cpu)
{
  char path[96], text[32];
  snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%u/%s", cpu, sources[source]);
  return ws_os_read(path, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

static uint32_t cpus_of(const ws_cpuset_t *mask)
{
  return 8 * mask->bytes < WS_CPUS_MAX ? (uint32_t)(8 * mask->bytes) : WS_CPUS_MAX;
}

static void set_slow(ws_speed_t *speed, uint32_t cpu)
{
  speed->slow[cpu / WS_SPEED_BITS] |= 1ul << (cpu % WS_SPEED_BITS);
}

/// @param known  out: whether every CPU's speed is known
/// @return the speed below which a CPU is slow; 0 = some CPU's is not known, or none is slow
static uint64_t bound_of(const ws_cpuset_t *mask, uint32_t source, bool *known)
{
  uint64_t most = 0, least = UINT64_MAX;
  *known = false;
  for (uint32_t cpu = 0; cpu < cpus_of(mask); cpu++) {
    if (!ws_os_cpuset_has(mask, cpu))
      continue;
    const uint64_t its = speed_of(source, cpu);
    if (its == 0)
      return 0;
    most = its > most ? its : most;
    least = its < least ? its : least;
  }
  *known = most > 0;
  const uint64_t bound = most / 100 * SLOW_PERCENT + most % 100 * SLOW_PERCENT / 100;
  return least < bound ? bound : 0;
}

/// @return whether some CPU is slow
static bool read_source(const ws_cpuset_t *mask, uint32_t source, ws_speed_t *speed, bool *known)
{
  const uint64_t bound = bound_of(mask, source, known);
  for (uint32_t cpu = 0; bound > 0 && cpu < cpus_of(mask); cpu++) {
    if (!ws_os_cpuset_has(mask, cpu))
      continue;
    if (speed_of(source, cpu) < bound)
      set_slow(speed, cpu);
    else
      speed->fast++;
  }
  return bound > 0;
}

/// Intel's E cores are slow, as a list: "16-23,28".
static bool read_list(const ws_cpuset_t *mask, ws_speed_t *speed)
{
  char text[512], *next = text;
  uint32_t first, last;
  bool unlike = false;
  if (!ws_os_read("/sys/devices/cpu_atom/cpus", text, sizeof(text)))
    return false;
  speed->fast = ws_os_cpuset_count(mask);
  while (ws_os_next_range(&next, &first, &last))
    for (uint32_t cpu = first; cpu <= last && cpu < cpus_of(mask); cpu++) {
      if (!ws_os_cpuset_has(mask, cpu))
        continue;
      set_slow(speed, cpu);
      speed->fast--;
      unlike = true;
    }
  return unlike && speed->fast > 0;
}

void ws_speed_read(const ws_cpuset_t *mask, ws_speed_t *speed)
{
  memset(speed, 0, sizeof(*speed));
  bool known = false;
  // AMD's firmware ranks CPUs of one kind by performance, by more than what makes a CPU slow here. So
  // frequencies that are alike are not doubted.
  for (uint32_t source = 0; source < SOURCES && !(known && source == PERFORMANCE); source++)
    if (read_source(mask, source, speed, &known))
      return;
  if (!read_list(mask, speed))
    memset(speed, 0, sizeof(*speed));
}
