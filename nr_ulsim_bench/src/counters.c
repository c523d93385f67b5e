// SPDX-License-Identifier: BSD-3-Clause
#include "counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
  const char *key;
  uint32_t type;
  uint64_t config;
  double scale;
  bool in_kernel; ///< counts what the kernel does: 0 in user mode only
} counter[COUNTERS] = {
    {"instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, 1, false},
    {"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, 1, false},
    {"perf_task_clock_s", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, 1e-9, false},
    {"perf_ctx_switches", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CONTEXT_SWITCHES, 1, true},
    {"perf_migrations", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_MIGRATIONS, 1, true},
};

/// What a read of a counter gives: the CPU may have counted for a part of the time only.
typedef struct {
  uint64_t value, enabled_ns, running_ns;
} reading_t;

static int open_counter(uint32_t which, bool user_only)
{
  struct perf_event_attr attr = {
      .type = counter[which].type,
      .size = sizeof attr,
      .config = counter[which].config,
      .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
      .disabled = 1,
      .inherit = 1,
      .exclude_kernel = user_only,
      .exclude_hv = user_only,
  };
  return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

void counters_open(counters_t *counters)
{
  *counters = (counters_t){0};
  for (uint32_t i = 0; i < COUNTERS; i++) {
    const bool hardware = counter[i].type == PERF_TYPE_HARDWARE;
    counters->fd[i] = open_counter(i, counters->user_only && !counter[i].in_kernel);
    if (counters->fd[i] < 0 && (errno == EACCES || errno == EPERM) && !counter[i].in_kernel) {
      counters->fd[i] = open_counter(i, true);
      counters->user_only |= hardware && counters->fd[i] >= 0;
    }
    if (counters->fd[i] < 0 && hardware)
      counters->error = errno;
  }
}

void counters_start(counters_t *counters)
{
  for (uint32_t i = 0; i < COUNTERS; i++)
    if (counters->fd[i] >= 0) {
      ioctl(counters->fd[i], PERF_EVENT_IOC_RESET, 0);
      ioctl(counters->fd[i], PERF_EVENT_IOC_ENABLE, 0);
    }
}

static void report_counter(const counters_t *counters, uint32_t which, report_t *report)
{
  reading_t reading;
  if (read(counters->fd[which], &reading, sizeof reading) != sizeof reading || reading.running_ns == 0)
    return;
  const double share = (double)reading.enabled_ns / (double)reading.running_ns;
  report_number(report, counter[which].key, (double)reading.value * share * counter[which].scale);
}

void counters_stop(counters_t *counters, report_t *report)
{
  for (uint32_t i = 0; i < COUNTERS; i++)
    if (counters->fd[i] >= 0)
      ioctl(counters->fd[i], PERF_EVENT_IOC_DISABLE, 0);
  for (uint32_t i = 0; i < COUNTERS; i++)
    if (counters->fd[i] >= 0) {
      report_counter(counters, i, report);
      close(counters->fd[i]);
      counters->fd[i] = -1;
    }
  report_bool(report, "counters_user_only", counters->user_only);
  if (counters->error)
    report_text(report, "counters_missing", strerror(counters->error));
}
