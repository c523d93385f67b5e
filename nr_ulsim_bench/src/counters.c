// SPDX-License-Identifier: BSD-3-Clause
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/// The kernel lists these events where the CPU has them. On another CPU their numbers mean other events.
#define TOPDOWN_FILE "/sys/bus/event_source/devices/cpu/events/topdown-retiring"

static const struct {
  const char *key;
  uint32_t type;
  uint64_t config;
} counter[COUNTERS] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
    {"slots", PERF_TYPE_RAW, 0x0400}, // leads the group of those below
    {"retiring", PERF_TYPE_RAW, 0x8000},
    {"bad_speculation", PERF_TYPE_RAW, 0x8100},
    {"frontend_bound", PERF_TYPE_RAW, 0x8200},
    {"backend_bound", PERF_TYPE_RAW, 0x8300},
    {"branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS},
    {"branch_misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES},
};
enum { INSTRUCTIONS, CYCLES, SLOTS, BRANCHES = COUNTERS - 2, BRANCH_MISSES };

/// In user mode only: the kernel grants that to a plain user by default, and tasks have no other.
static int open_counter(uint32_t which, int leader)
{
  struct perf_event_attr attr = {
      .type = counter[which].type,
      .size = sizeof attr,
      .config = counter[which].config,
      .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
      .inherit = 1,
      .exclude_kernel = 1,
      .exclude_hv = 1,
  };
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, leader, PERF_FLAG_FD_CLOEXEC);
}

void counters_open(counters_t *counters)
{
  const bool topdown = access(TOPDOWN_FILE, R_OK) == 0;
  for (uint32_t i = 0; i < COUNTERS; i++) {
    const bool of_slots = i >= SLOTS && i < BRANCHES;
    const bool possible = !of_slots || (topdown && (i == SLOTS || counters->fd[SLOTS] >= 0));
    counters->fd[i] = possible ? open_counter(i, of_slots && i > SLOTS ? counters->fd[SLOTS] : -1) : -1;
    if (i < SLOTS && counters->fd[i] < 0)
      counters->error = errno;
  }
}

static void read_all(const counters_t *counters, counter_reading_t *readings)
{
  for (uint32_t i = 0; i < COUNTERS; i++) {
    readings[i] = (counter_reading_t){0};
    if (counters->fd[i] >= 0 && read(counters->fd[i], &readings[i], sizeof readings[i]) < 0)
      readings[i] = (counter_reading_t){0};
  }
}

void counters_begin(counters_t *counters)
{
  read_all(counters, counters->begin);
}

void counters_end(counters_t *counters)
{
  read_all(counters, counters->end);
}

/// @return what was counted, as if the CPU had counted all the time; 0 = nothing
static double counted(const counters_t *counters, uint32_t which)
{
  const counter_reading_t *const begin = &counters->begin[which], *const end = &counters->end[which];
  const uint64_t running_ns = end->running_ns - begin->running_ns;
  const double share = running_ns ? (double)(end->enabled_ns - begin->enabled_ns) / (double)running_ns : 0;
  return (double)(end->value - begin->value) * share;
}

void counters_report(const counters_t *counters, report_t *report)
{
  const double cycles = counted(counters, CYCLES), slots = counted(counters, SLOTS);
  const double branches = counted(counters, BRANCHES);
  if (counters->error)
    report_text(report, "counters_missing", strerror(counters->error));
  if (cycles > 0)
    report_number(report, "ipc", counted(counters, INSTRUCTIONS) / cycles);
  if (branches > 0)
    report_number(report, counter[BRANCH_MISSES].key, 100 * counted(counters, BRANCH_MISSES) / branches);
  for (uint32_t i = SLOTS + 1; i < BRANCHES && slots > 0; i++)
    report_number(report, counter[i].key, 100 * counted(counters, i) / slots);
}
