// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "clock.h"
#include "prewake.h"
#include "process.h"
#include "usage.h"

/// Short, so that a mode that uses up the quota pays for it itself and not the one after it.
#define QUOTA_PERIOD_US 10000u

static bool write_text(const char *folder, const char *name, const char *text)
{
  char path[REQUEST_PATH_CHARS + 32];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  const int fd = open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0)
    return false;
  const bool written = write(fd, text, strlen(text)) == (ssize_t)strlen(text);
  const int reason = errno;
  close(fd);
  errno = reason;
  return written;
}

/// @return false after report_error()
static bool failed(report_t *report, const char *what)
{
  report_error(report, "%s: %s", what, strerror(errno));
  return false;
}

/// Below the root: a group that holds processes gives no controller to groups below it.
static bool make_group(environment_t *environment, uint32_t percent, report_t *report)
{
  const bool v1 = access("/sys/fs/cgroup/cpu", F_OK) == 0;
  const uint32_t quota_us = QUOTA_PERIOD_US / 100 * percent;
  char period[16], quota[32];
  snprintf(environment->group, sizeof environment->group, "/sys/fs/cgroup/%sws-prewake-%d", v1 ? "cpu/" : "",
           (int)getpid());
  if (mkdir(environment->group, 0755) != 0) {
    failed(report, environment->group);
    environment->group[0] = '\0';
    return false;
  }
  snprintf(period, sizeof period, "%u", QUOTA_PERIOD_US);
  snprintf(quota, sizeof quota, "%u%s%s", quota_us, v1 ? "" : " ", v1 ? "" : period);
  const bool has_period = !v1 || write_text(environment->group, "cpu.cfs_period_us", period);
  return (has_period && write_text(environment->group, v1 ? "cpu.cfs_quota_us" : "cpu.max", quota))
         || failed(report, environment->group);
}

bool environment_open(environment_t *environment, const question_t *question, report_t *report)
{
  *environment = (environment_t){.latency_fd = -1};
  environment->noise_count = question->work.noise_count;
  if (!process_start_all(question->work.noise, environment->noise_count, environment->noise))
    return failed(report, "no process");
  if (question->dma_latency_us >= 0)
    environment->latency_fd = process_hold_latency(question->dma_latency_us);
  if (question->dma_latency_us >= 0 && environment->latency_fd < 0)
    return failed(report, "/dev/cpu_dma_latency");
  return question->quota_percent == 0 || make_group(environment, question->quota_percent, report);
}

void environment_close(environment_t *environment)
{
  process_end_all(environment->noise, environment->noise_count);
  if (environment->latency_fd >= 0)
    close(environment->latency_fd);
  if (environment->group[0])
    rmdir(environment->group);
}

static double process_cpu_s(pid_t process)
{
  clockid_t clock;
  return clock_getcpuclockid(process, &clock) == 0 ? usage_clock_s(clock) : 0;
}

/// Only a CPU's idle time is exact in /proc/stat; what it is busy with is often counted by samples, which the
/// slots of a radio may always or never meet.
double environment_busy_s(const environment_t *environment, const cpu_set_t *cpus)
{
  FILE *const file = fopen("/proc/stat", "r");
  char line[1024];
  uint64_t idle_ticks = 0;
  while (file && fgets(line, sizeof line, file)) {
    unsigned long long idle, waiting;
    uint32_t cpu;
    if (sscanf(line, "cpu%u %*u %*u %*u %llu %llu", &cpu, &idle, &waiting) == 3 && cpu < CPU_SETSIZE
        && CPU_ISSET(cpu, cpus))
      idle_ticks += idle + waiting;
  }
  if (file)
    fclose(file);
  double busy_s = (double)clock_now_ns() * 1e-9 * (uint32_t)CPU_COUNT(cpus);
  busy_s -= (double)idle_ticks / (double)sysconf(_SC_CLK_TCK);
  for (uint32_t i = 0; i < environment->noise_count; i++)
    busy_s -= process_cpu_s(environment->noise[i]);
  return busy_s;
}

bool environment_enter(const environment_t *environment, const question_t *question, report_t *report)
{
  char process[32];
  snprintf(process, sizeof process, "%d", (int)getpid());
  if (environment->group[0] && !write_text(environment->group, "cgroup.procs", process))
    return failed(report, "cgroup.procs");
  return prctl(PR_SET_TIMERSLACK, question->slack_ns) == 0 || failed(report, "timer slack");
}
