// SPDX-License-Identifier: BSD-3-Clause
#include "usage.h"

#include <sys/resource.h>
#include <time.h>

#include "clock.h"

usage_t usage_now(usage_of_t of)
{
  struct rusage usage;
  getrusage(of == USAGE_PROCESS ? RUSAGE_SELF : RUSAGE_THREAD, &usage);
  // The CPU-time clocks count in ns, rusage in µs.
  struct timespec cpu;
  clock_gettime(of == USAGE_PROCESS ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID, &cpu);
  return (usage_t){
      .wall_s = (double)clock_now_ns() * 1e-9,
      .cpu_s = (double)cpu.tv_sec + (double)cpu.tv_nsec * 1e-9,
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
