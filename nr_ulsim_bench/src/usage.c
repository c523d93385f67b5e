// SPDX-License-Identifier: BSD-3-Clause
#include "usage.h"

#include <sys/resource.h>

#include "clock.h"

double usage_clock_s(clockid_t clock)
{
  struct timespec used = {0};
  clock_gettime(clock, &used);
  return (double)used.tv_sec + (double)used.tv_nsec * 1e-9;
}

usage_t usage_now(usage_of_t of)
{
  struct rusage usage;
  getrusage(of == USAGE_PROCESS ? RUSAGE_SELF : RUSAGE_THREAD, &usage);
  // The CPU-time clocks count in ns, rusage in µs.
  return (usage_t){
      .wall_s = (double)clock_now_ns() * 1e-9,
      .cpu_s = usage_clock_s(of == USAGE_PROCESS ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID),
      .ctx_switches = (uint64_t)(usage.ru_nvcsw + usage.ru_nivcsw),
  };
}

usage_t usage_since(usage_t begin, usage_of_t of)
{
  const usage_t end = usage_now(of);
  return (usage_t){
      .wall_s = end.wall_s - begin.wall_s,
      .cpu_s = end.cpu_s - begin.cpu_s,
      .ctx_switches = end.ctx_switches - begin.ctx_switches,
  };
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
