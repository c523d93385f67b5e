// SPDX-License-Identifier: BSD-3-Clause
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

bool skip(report_t *report, const char *format, ...)
{
  char text[REQUEST_PATH_CHARS + 128];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  report->length = 0;
  report_text(report, "skipped", text);
  return false;
}

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

/// Folder of this process's group that has the cpu controller: "<id>:<controllers>:<path>", v1 or v2.
static bool own_group(char *folder, size_t size, bool *v2)
{
  FILE *const file = fopen("/proc/self/cgroup", "r");
  if (!file)
    return false;
  char line[REQUEST_PATH_CHARS], path[REQUEST_PATH_CHARS] = "";
  bool found = false;
  while (!found && fgets(line, sizeof line, file)) {
    char controllers[128] = "";
    *v2 = strncmp(line, "0::", 3) == 0;
    found = sscanf(line, *v2 ? "%*u::%400s" : "%*u:%*[^:]:%400s", path) == 1;
    if (found && !*v2)
      found = sscanf(line, "%*u:%127[^:]", controllers) == 1
              && (strcmp(controllers, "cpu") == 0 || strstr(controllers, "cpu,"));
  }
  fclose(file);
  snprintf(folder, size, "/sys/fs/cgroup%s%s", *v2 ? "" : "/cpu", strcmp(path, "/") == 0 ? "" : path);
  return found;
}

static bool make_group(environment_t *environment, uint32_t percent, report_t *report)
{
  char parent[REQUEST_PATH_CHARS - 64], value[64];
  bool v2 = false;
  if (!own_group(parent, sizeof parent, &v2))
    return skip(report, "no control group with the cpu controller");
  snprintf(environment->group, sizeof environment->group, "%s/ws-prewake-%d", parent, (int)getpid());
  if (mkdir(environment->group, 0755) != 0) {
    skip(report, "%s: %s", environment->group, strerror(errno));
    environment->group[0] = '\0';
    return false;
  }
  const uint32_t quota_us = QUOTA_PERIOD_US / 100 * percent;
  snprintf(value, sizeof value, "%u %u", quota_us, QUOTA_PERIOD_US);
  if (v2)
    return write_text(environment->group, "cpu.max", value)
           || skip(report, "%s/cpu.max: %s", environment->group, strerror(errno));
  snprintf(value, sizeof value, "%u", QUOTA_PERIOD_US);
  const bool period_set = write_text(environment->group, "cpu.cfs_period_us", value);
  snprintf(value, sizeof value, "%u", quota_us);
  return (period_set && write_text(environment->group, "cpu.cfs_quota_us", value))
         || skip(report, "%s/cpu.cfs_quota_us: %s", environment->group, strerror(errno));
}

static bool hold_latency(environment_t *environment, int32_t latency_us, report_t *report)
{
  environment->latency_fd = process_hold_latency(latency_us);
  return environment->latency_fd >= 0 || skip(report, "/dev/cpu_dma_latency: %s", strerror(errno));
}

bool environment_open(environment_t *environment, const question_t *question, report_t *report)
{
  *environment = (environment_t){.latency_fd = -1};
  environment->noise_count = question->work.noise_count;
  if (!process_start_all(question->work.noise, environment->noise_count, environment->noise))
    return skip(report, "no process: %s", strerror(errno));
  if (question->dma_latency_us >= 0 && !hold_latency(environment, question->dma_latency_us, report))
    return false;
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
    return skip(report, "%s/cgroup.procs: %s", environment->group, strerror(errno));
  return prctl(PR_SET_TIMERSLACK, question->slack_ns) == 0
         || skip(report, "timer slack: %s", strerror(errno));
}
