// SPDX-License-Identifier: BSD-3-Clause
#include "usage.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>

#include "clock.h"

double usage_clock_s(clockid_t clock)
{
  struct timespec used = {0};
  clock_gettime(clock, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

static double seconds(struct timeval time)
{
  return (double)time.tv_sec + (double)time.tv_usec * 1e-6;
}

usage_t usage_now(usage_of_t of)
{
  struct rusage usage;
  getrusage(of == USAGE_PROCESS ? RUSAGE_SELF : RUSAGE_THREAD, &usage);
  // The CPU-time clocks count in ns, rusage in µs.
  return (usage_t){
      .wall_s = (double)clock_now_ns() * 1e-9,
      .cpu_s = usage_clock_s(of == USAGE_PROCESS ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID),
      .user_s = seconds(usage.ru_utime),
      .system_s = seconds(usage.ru_stime),
      .ctx_switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw),
      .involuntary_switches = (uint64_t)usage.ru_nivcsw,
      .page_faults = (uint64_t)(usage.ru_minflt + usage.ru_majflt),
  };
}

usage_t usage_since(usage_t begin, usage_of_t of)
{
  const usage_t end = usage_now(of);
  return (usage_t){
      .wall_s = end.wall_s - begin.wall_s,
      .cpu_s = end.cpu_s - begin.cpu_s,
      .user_s = end.user_s - begin.user_s,
      .system_s = end.system_s - begin.system_s,
      .ctx_switches = end.ctx_switches - begin.ctx_switches,
      .involuntary_switches = end.involuntary_switches - begin.involuntary_switches,
      .page_faults = end.page_faults - begin.page_faults,
  };
}

/// @return false: its file has no such line
static bool add_migrations(const char *thread, uint64_t *migrations)
{
  char path[300], line[200];
  unsigned long long count = 0;
  snprintf(path, sizeof path, "/proc/self/task/%.255s/sched", thread);
  FILE *const file = fopen(path, "re");
  bool found = false;
  while (file && !found && fgets(line, sizeof line, file))
    found = sscanf(line, "se.nr_migrations : %llu", &count) == 1;
  if (file)
    fclose(file);
  *migrations += count;
  return found;
}

bool usage_migrations(uint64_t *migrations)
{
  DIR *const threads = opendir("/proc/self/task");
  bool counted = threads != NULL;
  *migrations = 0;
  for (struct dirent *entry; counted && (entry = readdir(threads));)
    counted = entry->d_name[0] == '.' || add_migrations(entry->d_name, migrations);
  if (threads)
    closedir(threads);
  return counted;
}

usage_t usage_asleep(uint64_t ns)
{
  const usage_t begin = usage_now(USAGE_PROCESS), begin_own = usage_now(USAGE_THREAD);
  clock_sleep_until(clock_now_ns() + ns);
  const usage_t own = usage_since(begin_own, USAGE_THREAD);
  usage_t all = usage_since(begin, USAGE_PROCESS);
  all.cpu_s = all.cpu_s > own.cpu_s ? all.cpu_s - own.cpu_s : 0;
  all.ctx_switches -= own.ctx_switches;
  return all;
}
